//! What crosses to the host: a status, and one sentence where something failed. Never a panic.

use crate::abi::*;
use crate::layout::reaches;
use std::ffi::CStr;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Why a call failed, in one sentence for the user.
pub struct Failure {
    pub status: loupe_status,
    /// Empty: the host has written its own sentence already.
    pub message: String,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure { status: LOUPE_FAILED, message }
    }
}
impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        message.to_string().into()
    }
}

/// What a call of the host's gave, as Rust's own result.
pub fn checked(status: loupe_status) -> Result<(), Failure> {
    if status == LOUPE_OK {
        return Ok(());
    }
    Err(Failure { status, message: String::new() })
}

/// Fails unless all that is read of a struct is there.
pub(crate) fn need(there: bool, what: &str) -> Result<(), Failure> {
    if there {
        return Ok(());
    }
    Err(Failure { status: LOUPE_INVALID, message: format!("{} is missing, or shorter than ABI 1.0 has it", what) })
}

/// Runs `work` and tells how it went; a panic becomes a failure.
///
/// # Safety
/// `error` is null or a loupe_error of the host's.
pub unsafe fn guarded(error: *mut loupe_error, work: impl FnOnce() -> Result<(), Failure>) -> loupe_status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return LOUPE_OK,
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
unsafe fn write(error: *mut loupe_error, message: &str) {
    let fits = reaches!(error as *const loupe_error, message) && !(*error).message.is_null() && (*error).capacity > 0;
    if !fits || message.is_empty() {
        return;
    }
    let mut length = message.len().min((*error).capacity as usize - 1);
    while !message.is_char_boundary(length) {
        length -= 1;
    }
    std::ptr::copy_nonoverlapping(message.as_ptr() as *const c_char, (*error).message, length);
    *(*error).message.add(length) = 0;
}

/// A text of C's; empty for null.
///
/// # Safety
/// `text` is null or ends with a zero byte.
pub(crate) unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(capacity: usize, work: impl FnOnce() -> Result<(), Failure>) -> (loupe_status, String) {
        let mut buffer = vec![0 as c_char; capacity.max(1)];
        let mut error = loupe_error { struct_size: 16, capacity: capacity as u32, message: buffer.as_mut_ptr() };
        let status = unsafe { guarded(&mut error, work) };
        (status, unsafe { text_of(buffer.as_ptr()) })
    }

    #[test]
    fn a_panic_becomes_a_failure_with_its_words() {
        assert_eq!(told(100, || panic!("no layer {}", 3)), (LOUPE_FAILED, "the lens panicked: no layer 3".to_string()));
    }
    #[test]
    fn a_sentence_is_cut_between_two_characters() {
        assert_eq!(told(4, || Err("aéé".into())), (LOUPE_FAILED, "aé".to_string()));
        assert_eq!(told(0, || Err("a".into())), (LOUPE_FAILED, String::new()));
    }
    #[test]
    fn a_caller_may_want_no_sentence() {
        assert_eq!(unsafe { guarded(std::ptr::null_mut(), || Err("a".into())) }, LOUPE_FAILED);
    }
    #[test]
    fn the_hosts_own_sentence_and_status_stay() {
        assert_eq!(told(100, || checked(LOUPE_NOT_FOUND)), (LOUPE_NOT_FOUND, String::new()));
    }
}
