// loupe/abi/entry.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub type loupe_status = i32;
pub const LOUPE_ABI_MAJOR: u32 = 1;
pub const LOUPE_ABI_MINOR: u32 = 0;
pub const LOUPE_MAGIC: u64 = 0x004550554f4c0001;
pub const LOUPE_ENTRY_SYMBOL: &[u8] = b"loupe_plugin_entry\0";
pub const LOUPE_OK: loupe_status = 0;
pub const LOUPE_INVALID: loupe_status = 1;
pub const LOUPE_NOT_FOUND: loupe_status = 2;
pub const LOUPE_UNSUPPORTED: loupe_status = 3;
pub const LOUPE_FAILED: loupe_status = 4;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_error {
    pub struct_size: u32,
    pub capacity: u32,
    pub message: *mut c_char,
}
layout!(loupe_error, 16, struct_size 0, capacity 4, message 8);
pub const LOUPE_LOG_INFO: i32 = 0;
pub const LOUPE_LOG_WARNING: i32 = 1;
pub const LOUPE_LOG_ERROR: i32 = 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_entry {
    pub magic: u64,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub get_interface: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
}
layout!(loupe_entry, 24, magic 0, abi_major 8, abi_minor 12, get_interface 16);
