// loupe/abi/tensors.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub const LOUPE_TENSORS_ID: &[u8] = b"loupe.tensors/1\0";
pub const LOUPE_TENSOR_MATH_ID: &[u8] = b"loupe.tensor_math/1\0";
pub const LOUPE_TENSOR_FILES_ID: &[u8] = b"loupe.tensor_files/1\0";
pub const LOUPE_DTYPE_INT: u32 = 0;
pub const LOUPE_DTYPE_UINT: u32 = 1;
pub const LOUPE_DTYPE_FLOAT: u32 = 2;
pub const LOUPE_DTYPE_OPAQUE: u32 = 3;
pub const LOUPE_DTYPE_BFLOAT: u32 = 4;
pub const LOUPE_DTYPE_COMPLEX: u32 = 5;
pub const LOUPE_DTYPE_BOOL: u32 = 6;
pub const LOUPE_DTYPE_FLOAT8_E4M3FN: u32 = 10;
pub const LOUPE_DTYPE_FLOAT8_E4M3FNUZ: u32 = 11;
pub const LOUPE_DTYPE_FLOAT8_E5M2: u32 = 12;
pub const LOUPE_DTYPE_FLOAT8_E5M2FNUZ: u32 = 13;
pub const LOUPE_DEVICE_CPU: i32 = 1;
pub const LOUPE_DEVICE_CUDA: i32 = 2;
pub const LOUPE_DEVICE_METAL: i32 = 8;
pub const LOUPE_DEVICE_ROCM: i32 = 10;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_native_library {
    pub struct_size: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub identity: *const c_void,
}
layout!(loupe_native_library, 32, struct_size 0, reserved 4, name 8, version 16, identity 24);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_tensor {
    pub struct_size: u32,
    pub dtype_code: u8,
    pub dtype_bits: u8,
    pub dtype_lanes: u16,
    pub device_type: i32,
    pub device_id: i32,
    pub data: *const c_void,
    pub sizes: *const i64,
    pub strides: *const i64,
    pub dim: i64,
    pub numel: i64,
    pub native: *const c_void,
    pub native_library: *const loupe_native_library,
    pub stream: *mut c_void,
}
layout!(loupe_tensor, 80, struct_size 0, dtype_code 4, dtype_bits 5, dtype_lanes 6, device_type 8, device_id 12, data 16, sizes 24, strides 32, dim 40, numel 48, native 56, native_library 64, stream 72);
pub enum loupe_retained {}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_tensor_service {
    pub struct_size: u32,
    pub reserved: u32,
    pub retain: Option<unsafe extern "C" fn(*mut c_void, *const loupe_tensor, *mut *mut loupe_retained, *mut loupe_error) -> loupe_status>,
    pub release: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_retained)>,
    pub view: Option<unsafe extern "C" fn(*mut c_void, *const loupe_retained) -> *const loupe_tensor>,
    pub clone: Option<unsafe extern "C" fn(*mut c_void, *const loupe_tensor, i64, *mut *mut loupe_retained, *mut loupe_error) -> loupe_status>,
    pub copy: Option<unsafe extern "C" fn(*mut c_void, *const loupe_tensor, *mut f64, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_tensor_service, 48, struct_size 0, reserved 4, retain 8, release 16, view 24, clone 32, copy 40);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_tensor_math_service {
    pub struct_size: u32,
    pub reserved: u32,
    pub singular_values: Option<unsafe extern "C" fn(*mut c_void, *const loupe_tensor, *mut f64, usize, *mut usize, *mut loupe_error) -> loupe_status>,
    pub fold: Option<unsafe extern "C" fn(*mut c_void, *mut loupe_retained, *const loupe_tensor, u32, u64, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_tensor_math_service, 24, struct_size 0, reserved 4, singular_values 8, fold 16);
pub const LOUPE_SAVE_LIST: u32 = 1 << 0;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_tensor_file_service {
    pub struct_size: u32,
    pub reserved: u32,
    pub save: Option<unsafe extern "C" fn(*mut c_void, *const *const loupe_retained, usize, u32, *const c_char, *mut loupe_error) -> loupe_status>,
}
layout!(loupe_tensor_file_service, 16, struct_size 0, reserved 4, save 8);
