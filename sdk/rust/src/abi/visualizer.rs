// loupe/abi/visualizer.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub const LOUPE_VISUALIZER_ID: &[u8] = b"loupe.visualizer/1\0";
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_visualizer {
    pub struct_size: u32,
    pub reserved: u32,
    pub get_extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
    pub begin: Option<unsafe extern "C" fn(*mut c_void, *const loupe_run, *mut loupe_error) -> loupe_status>,
    pub tag: Option<unsafe extern "C" fn(*mut c_void, *const loupe_tag, *mut loupe_error) -> loupe_status>,
    pub begin_tick: Option<unsafe extern "C" fn(*mut c_void, *const loupe_tick, *mut loupe_error) -> loupe_status>,
    pub value: Option<unsafe extern "C" fn(*mut c_void, *const loupe_value, *mut loupe_error) -> loupe_status>,
    pub range: Option<unsafe extern "C" fn(*mut c_void, *const loupe_range, *mut loupe_error) -> loupe_status>,
    pub histogram: Option<unsafe extern "C" fn(*mut c_void, *const loupe_histogram, *mut loupe_error) -> loupe_status>,
    pub end_tick: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_error) -> loupe_status>,
    pub flush: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_error) -> loupe_status>,
    pub progress: Option<unsafe extern "C" fn(*mut c_void, *const loupe_progress, *mut loupe_error) -> loupe_status>,
    pub finding: Option<unsafe extern "C" fn(*mut c_void, *const loupe_finding, *mut loupe_error) -> loupe_status>,
    pub note: Option<unsafe extern "C" fn(*mut c_void, *const loupe_note, *mut loupe_error) -> loupe_status>,
    pub model: Option<unsafe extern "C" fn(*mut c_void, *const loupe_model, *mut loupe_error) -> loupe_status>,
    pub hyperparameter: Option<unsafe extern "C" fn(*mut c_void, *const loupe_option_value, *mut loupe_error) -> loupe_status>,
    pub end: Option<unsafe extern "C" fn(*mut c_void, *const loupe_ending, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_visualizer, 128, struct_size 0, reserved 4, get_extension 8, begin 16, tag 24, begin_tick 32, value 40, range 48, histogram 56, end_tick 64, flush 72, progress 80, finding 88, note 96, model 104, hyperparameter 112, end 120);
