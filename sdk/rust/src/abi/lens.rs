// loupe/abi/lens.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub const LOUPE_LENS_ID: &[u8] = b"loupe.lens/1\0";
pub enum loupe_source {}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_watch {
    pub struct_size: u32,
    pub reserved: u32,
    pub module: *const loupe_module,
    pub gatherer: *const c_char,
    pub gatherer_options: *const loupe_options,
    pub label: *const c_char,
    pub preprocessor: *const c_char,
    pub preprocessor_options: *const loupe_options,
    pub own_interface: *const loupe_preprocessor,
    pub own_preprocessor: *mut c_void,
}
layout!(loupe_watch, 72, struct_size 0, reserved 4, module 8, gatherer 16, gatherer_options 24, label 32, preprocessor 40, preprocessor_options 48, own_interface 56, own_preprocessor 64);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_wiring {
    pub struct_size: u32,
    pub reserved: u32,
    pub context: *mut c_void,
    pub watch: Option<unsafe extern "C" fn(*mut c_void, *const loupe_watch, *mut *mut loupe_source, *mut loupe_error) -> loupe_status>,
    pub series_count: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_source) -> usize>,
    pub series_name: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_source, usize, *mut c_char, usize, *mut usize, *mut loupe_error) -> loupe_status>,
    pub aggregate: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_source, usize, u32, *mut f64, *mut loupe_error) -> loupe_status>,
    pub values: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_source, usize, *mut f64, usize, *mut usize, *mut loupe_error) -> loupe_status>,
    pub get_extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}
layout!(loupe_wiring, 64, struct_size 0, reserved 4, context 8, watch 16, series_count 24, series_name 32, aggregate 40, values 48, get_extension 56);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub context: *mut c_void,
    pub tag: Option<unsafe extern "C" fn(*mut c_void, *const loupe_tag, *mut loupe_error) -> loupe_status>,
    pub value: Option<unsafe extern "C" fn(*mut c_void, *const loupe_value, *mut loupe_error) -> loupe_status>,
    pub range: Option<unsafe extern "C" fn(*mut c_void, *const loupe_range, *mut loupe_error) -> loupe_status>,
    pub histogram: Option<unsafe extern "C" fn(*mut c_void, *const loupe_histogram, *mut loupe_error) -> loupe_status>,
    pub finding: Option<unsafe extern "C" fn(*mut c_void, *const loupe_finding, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_sink, 56, struct_size 0, reserved 4, context 8, tag 16, value 24, range 32, histogram 40, finding 48);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_lens {
    pub struct_size: u32,
    pub reserved: u32,
    pub get_extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
    pub attach: Option<unsafe extern "C" fn(*mut c_void, *const loupe_wiring, *mut loupe_error) -> loupe_status>,
    pub visit: Option<unsafe extern "C" fn(*mut c_void, *const loupe_module, *mut loupe_error) -> loupe_status>,
    pub forget: Option<unsafe extern "C" fn(*mut c_void, *const loupe_module)>,
    pub step: Option<unsafe extern "C" fn(*mut c_void, *const loupe_step, *const loupe_sink, *mut loupe_error) -> loupe_status>,
    pub introduce: Option<unsafe extern "C" fn(*mut c_void, *const loupe_sink, *mut loupe_error) -> loupe_status>,
    pub report: Option<unsafe extern "C" fn(*mut c_void, *const loupe_tick, *const loupe_sink, *mut loupe_error) -> loupe_status>,
    pub query: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut f64, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_lens, 72, struct_size 0, reserved 4, get_extension 8, attach 16, visit 24, forget 32, step 40, introduce 48, report 56, query 64);
