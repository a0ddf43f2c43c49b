// loupe/abi/gatherer.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub const LOUPE_GATHERER_ID: &[u8] = b"loupe.gatherer/1\0";
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_subscription {
    pub struct_size: u32,
    pub tap: u32,
    pub label: *const c_char,
    pub index: u32,
    pub reserved: u32,
}
layout!(loupe_subscription, 24, struct_size 0, tap 4, label 8, index 16, reserved 20);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_taps {
    pub struct_size: u32,
    pub reserved: u32,
    pub context: *mut c_void,
    pub subscribe: Option<unsafe extern "C" fn(*mut c_void, *const loupe_subscription, *mut loupe_error) -> loupe_status>,
    pub emit: Option<unsafe extern "C" fn(*mut c_void, *const loupe_event, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_taps, 32, struct_size 0, reserved 4, context 8, subscribe 16, emit 24);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_gatherer {
    pub struct_size: u32,
    pub reserved: u32,
    pub get_extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
    pub open: Option<unsafe extern "C" fn(*mut c_void, *const loupe_taps, *const loupe_module, *const c_char, *mut loupe_error) -> loupe_status>,
    pub event: Option<unsafe extern "C" fn(*mut c_void, *const loupe_event, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_gatherer, 32, struct_size 0, reserved 4, get_extension 8, open 16, event 24);
