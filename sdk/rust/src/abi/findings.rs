// loupe/abi/findings.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char};

pub const LOUPE_SEVERITY_INFO: u32 = 1;
pub const LOUPE_SEVERITY_WARNING: u32 = 2;
pub const LOUPE_SEVERITY_ERROR: u32 = 3;
pub const LOUPE_FINDING_RAISED: u32 = 1;
pub const LOUPE_FINDING_CHANGED: u32 = 2;
pub const LOUPE_FINDING_GONE: u32 = 3;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_finding {
    pub struct_size: u32,
    pub severity: u32,
    pub state: u32,
    pub reserved: u32,
    pub rule: *const c_char,
    pub module: *const loupe_module,
    pub layer: *const c_char,
    pub parameter: *const c_char,
    pub message: *const c_char,
    pub advice: *const c_char,
    pub tag: *const c_char,
    pub source: *const c_char,
    pub value: f64,
    pub threshold: f64,
    pub first_step: u64,
    pub last_step: u64,
    pub first_epoch: f64,
    pub last_epoch: f64,
    pub count: u64,
}
layout!(loupe_finding, 136, struct_size 0, severity 4, state 8, reserved 12, rule 16, module 24, layer 32, parameter 40, message 48, advice 56, tag 64, source 72, value 80, threshold 88, first_step 96, last_step 104, first_epoch 112, last_epoch 120, count 128);
