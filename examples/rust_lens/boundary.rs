//! What crosses to the host: a status, and one sentence where something failed. Never a panic.

use crate::abi;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};

pub struct Failure {
    pub status: abi::Status,
    /// Empty: the host has written its own sentence already.
    pub message: String,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure { status: abi::FAILED, message }
    }
}

/// What a call of the host's gave, as Rust's own result.
pub fn checked(status: abi::Status) -> Result<(), Failure> {
    if status == abi::OK {
        return Ok(());
    }
    Err(Failure { status, message: String::new() })
}

/// Runs `work` and tells how it went; a panic becomes a failure.
///
/// # Safety
/// `error` is null or a loupe_error of the host's.
pub unsafe fn guarded(error: *mut abi::Error, work: impl FnOnce() -> Result<(), Failure>) -> abi::Status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let words = panic.downcast_ref::<&str>().map(|text| text.to_string());
            let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
            Failure::from(format!("the lens panicked: {}", words.unwrap_or_else(|| "it does not say why".to_string())))
        }
    };
    write(error, &failure.message);
    failure.status
}

/// Cut to fit, between two characters.
unsafe fn write(error: *mut abi::Error, message: &str) {
    if error.is_null() || (*error).message.is_null() || (*error).capacity == 0 || message.is_empty() {
        return;
    }
    let mut length = message.len().min((*error).capacity as usize - 1);
    while !message.is_char_boundary(length) {
        length -= 1;
    }
    std::ptr::copy_nonoverlapping(message.as_ptr() as *const c_char, (*error).message, length);
    *(*error).message.add(length) = 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn told(capacity: usize, work: impl FnOnce() -> Result<(), Failure>) -> (abi::Status, String) {
        let mut buffer = vec![0 as c_char; capacity.max(1)];
        let mut error = abi::Error { struct_size: 16, capacity: capacity as u32, message: buffer.as_mut_ptr() };
        let status = unsafe { guarded(&mut error, work) };
        (status, unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_str().unwrap().to_string())
    }

    #[test]
    fn a_panic_becomes_a_failure_with_its_words() {
        assert_eq!(told(100, || panic!("no layer {}", 3)), (abi::FAILED, "the lens panicked: no layer 3".to_string()));
    }
    #[test]
    fn a_sentence_is_cut_between_two_characters() {
        assert_eq!(told(4, || Err("aéé".to_string().into())), (abi::FAILED, "aé".to_string()));
        assert_eq!(told(0, || Err("a".to_string().into())), (abi::FAILED, String::new()));
    }
    #[test]
    fn a_caller_may_want_no_sentence() {
        assert_eq!(unsafe { guarded(std::ptr::null_mut(), || Err("a".to_string().into())) }, abi::FAILED);
    }
    #[test]
    fn the_hosts_own_sentence_and_status_stay() {
        assert_eq!(told(100, || checked(abi::NOT_FOUND)), (abi::NOT_FOUND, String::new()));
    }
}
