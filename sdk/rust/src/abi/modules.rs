// loupe/abi/modules.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub const LOUPE_PARAMETERS_ID: &[u8] = b"loupe.parameters/1\0";
pub const LOUPE_FAMILY_ACTIVATION: u32 = 1;
pub const LOUPE_FAMILY_DROPOUT: u32 = 2;
pub const LOUPE_FAMILY_LINEAR: u32 = 3;
pub const LOUPE_FAMILY_CONVOLUTION: u32 = 4;
pub const LOUPE_FAMILY_NORMALIZATION: u32 = 5;
pub const LOUPE_FAMILY_RECURRENT: u32 = 6;
pub const LOUPE_FAMILY_POOLING: u32 = 7;
pub const LOUPE_FAMILY_EMBEDDING: u32 = 8;
pub const LOUPE_FAMILY_ATTENTION: u32 = 9;
pub const LOUPE_FAMILY_LOSS: u32 = 10;
pub const LOUPE_FAMILY_PADDING: u32 = 11;
pub const LOUPE_FAMILY_OTHER: u32 = 0;
pub const LOUPE_MODULE_ROOT: u32 = 1 << 0;
pub const LOUPE_MODULE_LEAF: u32 = 1 << 1;
pub const LOUPE_MODULE_FUNCTIONAL: u32 = 1 << 2;
pub const LOUPE_MODULE_TAPPED: u32 = 1 << 3;
pub const LOUPE_MODULE_LOSS: u32 = 1 << 4;
pub const LOUPE_MODULE_UNREGISTERED: u32 = 1 << 5;
pub const LOUPE_PARAMETER_BUFFER: u32 = 1 << 0;
pub const LOUPE_PARAMETER_TRAINABLE: u32 = 1 << 1;
pub const LOUPE_PARAMETER_OPTIMIZED: u32 = 1 << 2;
pub const LOUPE_PARAMETER_GRADIENT: u32 = 1 << 3;
pub const LOUPE_PARAMETER_CHANGED: u32 = 1 << 4;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_parameter {
    pub struct_size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub dim: i64,
    pub numel: i64,
    pub sizes: *const i64,
    pub current_flags: Option<unsafe extern "C" fn(*const loupe_parameter) -> u32>,
}
layout!(loupe_parameter, 48, struct_size 0, flags 4, name 8, dim 16, numel 24, sizes 32, current_flags 40);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_module {
    pub struct_size: u32,
    pub flags: u32,
    pub id: u64,
    pub family: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub path: *const c_char,
    pub model: *const c_char,
    pub r#type: *const c_char,
    pub full_type: *const c_char,
    pub parameters: *const *const loupe_parameter,
    pub parameter_count: usize,
    pub settings: *const c_char,
}
layout!(loupe_module, 88, struct_size 0, flags 4, id 8, family 16, reserved 20, name 24, path 32, model 40, r#type 48, full_type 56, parameters 64, parameter_count 72, settings 80);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_model {
    pub struct_size: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub r#type: *const c_char,
    pub parameter_elements: i64,
    pub modules: *const *const loupe_module,
    pub module_count: usize,
}
layout!(loupe_model, 48, struct_size 0, reserved 4, name 8, r#type 16, parameter_elements 24, modules 32, module_count 40);
pub type loupe_take_tensor = Option<unsafe extern "C" fn(*mut c_void, *const loupe_tensor)>;
pub const LOUPE_LEND_GRADIENT: u32 = 1 << 0;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_parameter_service {
    pub struct_size: u32,
    pub reserved: u32,
    pub lend: Option<unsafe extern "C" fn(*mut c_void, *const loupe_module, *const c_char, u32, loupe_take_tensor, *mut c_void, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_parameter_service, 16, struct_size 0, reserved 4, lend 8);
