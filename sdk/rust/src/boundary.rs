//! Conversions at the boundary to the host: structs of any size, texts, a status, and one sentence for a failure. No
//! panic crosses it.

use crate::abi::*;
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::copy_nonoverlapping;

/// The reason for a failed call, in one sentence for the user.
#[derive(Debug, PartialEq)]
pub struct Failure {
    pub status: loupe_status,
    pub message: String,
}
impl<T: Into<String>> From<T> for Failure {
    fn from(message: T) -> Self {
        Failure { status: LOUPE_FAILED, message: message.into() }
    }
}

pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// # Safety
/// The struct begins with a `struct_size` of u32, and may be all zeros.
pub unsafe trait Struct: Copy {}

/// Copies a struct of the other side up to its size; the rest is zero. None for null.
///
/// # Safety
/// `from` is null or a struct of that type with a correct `struct_size`.
pub unsafe fn copied<T: Struct>(from: *const T) -> Option<T> {
    if from.is_null() {
        return None;
    }
    let mut copy = std::mem::MaybeUninit::<T>::zeroed();
    let (told, whole) = (*(from as *const u32) as usize, std::mem::size_of::<T>());
    let size = if told < whole { told & !7 } else { whole }; // leave out a pointer that is incomplete
    copy_nonoverlapping(from as *const u8, copy.as_mut_ptr() as *mut u8, size);
    Some(copy.assume_init())
}
/// Writes a struct of the host up to its size.
pub(crate) unsafe fn fill<T: Struct>(into: *mut T, from: &T) {
    let size = *(into as *const u32);
    let bytes = (size as usize).min(std::mem::size_of::<T>());
    copy_nonoverlapping(from as *const T as *const u8, into as *mut u8, bytes);
    *(into as *mut u32) = size;
}
/// Returns a struct, or a function of a table, that the host must have.
pub(crate) fn there<T>(found: Option<T>) -> Result<T> {
    let failure = || format!("the host lacks what ABI 1.0 has: {}", std::any::type_name::<T>());
    found.ok_or_else(|| Failure { status: LOUPE_INVALID, message: failure() })
}

/// Copies a C text, which is null or ends with a zero byte; "" for null.
pub(crate) unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}
/// The same, but None for null.
pub(crate) unsafe fn text_or_none(text: *const c_char) -> Option<String> {
    if text.is_null() { None } else { Some(text_of(text)) }
}
/// A slice of `count` elements; empty for null.
pub(crate) unsafe fn list<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() { &[] } else { std::slice::from_raw_parts(first, count) }
}
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap()
}
pub(crate) fn or_null(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Calls a function of the host with a buffer for its error message.
pub(crate) fn asked(call: impl FnOnce(*mut loupe_error) -> loupe_status) -> Result {
    let mut text = [0 as c_char; 1024];
    let mut error = loupe_error { capacity: text.len() as u32, message: text.as_mut_ptr(), ..loupe_error::EMPTY };
    match call(&mut error) {
        LOUPE_OK => Ok(()),
        status => Err(Failure { status, message: unsafe { text_of(text.as_ptr()) } }),
    }
}

/// Runs `work` and reports failures to `error`; a panic is a failure, too. Cuts the message between two characters.
///
/// # Safety
/// `error` is null or a loupe_error of the host.
pub unsafe fn guarded(error: *mut loupe_error, work: impl FnOnce() -> Result) -> loupe_status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return LOUPE_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let words = panic.downcast_ref::<&str>().map(|text| text.to_string());
            let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
            format!("it panicked: {}", words.unwrap_or_else(|| "it does not say why".to_string())).into()
        }
    };
    if let Some(error) = copied(error).filter(|error| !error.message.is_null() && error.capacity > 0) {
        let mut length = failure.message.len().min(error.capacity as usize - 1);
        while !failure.message.is_char_boundary(length) {
            length -= 1;
        }
        copy_nonoverlapping(failure.message.as_ptr() as *const c_char, error.message, length);
        *error.message.add(length) = 0;
    }
    failure.status
}
