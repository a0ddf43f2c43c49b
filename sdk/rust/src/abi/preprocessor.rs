// loupe/abi/preprocessor.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub const LOUPE_PREPROCESSOR_ID: &[u8] = b"loupe.preprocessor/1\0";
pub const LOUPE_AGGREGATE_MEAN: u32 = 1;
pub const LOUPE_AGGREGATE_MEDIAN: u32 = 2;
pub const LOUPE_AGGREGATE_MAX: u32 = 3;
pub const LOUPE_AGGREGATE_MIN: u32 = 4;
pub const LOUPE_AGGREGATE_Q1: u32 = 5;
pub const LOUPE_AGGREGATE_Q3: u32 = 6;
pub const LOUPE_AGGREGATE_IQR: u32 = 7;
pub const LOUPE_AGGREGATE_STD: u32 = 8;
pub const LOUPE_AGGREGATE_COUNT: u32 = 9;
pub const LOUPE_AGGREGATE_SUM: u32 = 10;
pub const LOUPE_AGGREGATE_LAST: u32 = 11;
pub const LOUPE_AGGREGATE_NAN_COUNT: u32 = 12;
pub const LOUPE_AGGREGATE_INF_COUNT: u32 = 13;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_preprocessor {
    pub struct_size: u32,
    pub reserved: u32,
    pub get_extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
    pub request: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_request, *mut loupe_error) -> loupe_status>,
    pub process: Option<unsafe extern "C" fn(*mut c_void, *const loupe_event, *mut loupe_error) -> loupe_status>,
    pub series_count: Option<unsafe extern "C" fn(*mut c_void) -> usize>,
    pub series_name: Option<unsafe extern "C" fn(*mut c_void, usize, *mut c_char, usize, *mut usize, *mut loupe_error) -> loupe_status>,
    pub aggregate: Option<unsafe extern "C" fn(*mut c_void, usize, u32, *mut f64, *mut loupe_error) -> loupe_status>,
    pub values: Option<unsafe extern "C" fn(*mut c_void, usize, *mut f64, usize, *mut usize, *mut loupe_error) -> loupe_status>,
    pub reset: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_error) -> loupe_status>,
    pub save_state: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut usize, *mut loupe_error) -> loupe_status>,
    pub merge_state: Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_preprocessor, 88, struct_size 0, reserved 4, get_extension 8, request 16, process 24, series_count 32, series_name 40, aggregate 48, values 56, reset 64, save_state 72, merge_state 80);
