// loupe/abi/shown.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char};

pub const LOUPE_TAG_NUMERICAL: u32 = 1;
pub const LOUPE_TAG_PROBABILITY: u32 = 2;
pub const LOUPE_TAG_RELATION: u32 = 3;
pub const LOUPE_PLOT_LOG_Y: u32 = 1 << 0;
pub const LOUPE_PLOT_BIG: u32 = 1 << 1;
pub const LOUPE_PLOT_ANNOTATE: u32 = 1 << 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_tag {
    pub struct_size: u32,
    pub r#type: u32,
    pub flags: u32,
    pub reserved: u32,
    pub id: *const c_char,
    pub title: *const c_char,
    pub unit: *const c_char,
    pub description: *const c_char,
    pub healthy: *const c_char,
    pub advice: *const c_char,
    pub y_minimum: f64,
    pub y_maximum: f64,
}
layout!(loupe_tag, 80, struct_size 0, r#type 4, flags 8, reserved 12, id 16, title 24, unit 32, description 40, healthy 48, advice 56, y_minimum 64, y_maximum 72);
pub const LOUPE_VALUE_ESTIMATED: u32 = 1 << 0;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_value {
    pub struct_size: u32,
    pub flags: u32,
    pub tag: *const c_char,
    pub layer: *const c_char,
    pub module: *const loupe_module,
    pub line: *const c_char,
    pub value: f64,
    pub events: u64,
}
layout!(loupe_value, 56, struct_size 0, flags 4, tag 8, layer 16, module 24, line 32, value 40, events 48);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_range {
    pub struct_size: u32,
    pub flags: u32,
    pub tag: *const c_char,
    pub layer: *const c_char,
    pub module: *const loupe_module,
    pub low_name: *const c_char,
    pub high_name: *const c_char,
    pub low: f64,
    pub high: f64,
    pub events: u64,
}
layout!(loupe_range, 72, struct_size 0, flags 4, tag 8, layer 16, module 24, low_name 32, high_name 40, low 48, high 56, events 64);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_histogram {
    pub struct_size: u32,
    pub flags: u32,
    pub tag: *const c_char,
    pub layer: *const c_char,
    pub module: *const loupe_module,
    pub line: *const c_char,
    pub edges: *const f64,
    pub counts: *const f64,
    pub bin_count: usize,
    pub events: u64,
}
layout!(loupe_histogram, 72, struct_size 0, flags 4, tag 8, layer 16, module 24, line 32, edges 40, counts 48, bin_count 56, events 64);
