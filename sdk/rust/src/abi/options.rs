// loupe/abi/options.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char};

pub const LOUPE_OPTION_BOOLEAN: u32 = 1;
pub const LOUPE_OPTION_INTEGER: u32 = 2;
pub const LOUPE_OPTION_NUMBER: u32 = 3;
pub const LOUPE_OPTION_STRING: u32 = 4;
pub const LOUPE_OPTION_STRINGS: u32 = 5;
pub const LOUPE_OPTION_MAP: u32 = 6;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_option_value {
    pub struct_size: u32,
    pub r#type: u32,
    pub name: *const c_char,
    pub integer: i64,
    pub number: f64,
    pub string: *const c_char,
    pub strings: *const *const c_char,
    pub string_count: usize,
    pub map: *const loupe_options,
}
layout!(loupe_option_value, 64, struct_size 0, r#type 4, name 8, integer 16, number 24, string 32, strings 40, string_count 48, map 56);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_options {
    pub struct_size: u32,
    pub reserved: u32,
    pub values: *const *const loupe_option_value,
    pub value_count: usize,
}
layout!(loupe_options, 24, struct_size 0, reserved 4, values 8, value_count 16);
pub const LOUPE_OPTION_REQUIRED: u32 = 1 << 0;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_option {
    pub struct_size: u32,
    pub r#type: u32,
    pub flags: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub help: *const c_char,
    pub default_value: *const loupe_option_value,
    pub minimum: f64,
    pub maximum: f64,
    pub choices: *const *const c_char,
    pub choice_count: usize,
    pub names: *const c_char,
    pub options_of: *const c_char,
}
layout!(loupe_option, 88, struct_size 0, r#type 4, flags 8, reserved 12, name 16, help 24, default_value 32, minimum 40, maximum 48, choices 56, choice_count 64, names 72, options_of 80);
