// loupe/abi/component.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub const LOUPE_PLUGIN_ID: &[u8] = b"loupe.plugin/1\0";
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_host {
    pub struct_size: u32,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub reserved: u32,
    pub version: *const c_char,
    pub plugin_path: *const c_char,
    pub context: *mut c_void,
    pub log: Option<unsafe extern "C" fn(*mut c_void, i32, *const c_char)>,
    pub get_interface: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}
layout!(loupe_host, 56, struct_size 0, abi_major 4, abi_minor 8, reserved 12, version 16, plugin_path 24, context 32, log 40, get_interface 48);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_component {
    pub struct_size: u32,
    pub reserved: u32,
    pub interface_id: *const c_char,
    pub name: *const c_char,
    pub aliases: *const *const c_char,
    pub alias_count: usize,
    pub help: *const c_char,
    pub gives: *const *const c_char,
    pub give_count: usize,
    pub example: *const c_char,
    pub options: *const *const loupe_option,
    pub option_count: usize,
    pub table: *const c_void,
    pub context: *mut c_void,
    pub create: Option<unsafe extern "C" fn(*const loupe_component, *const loupe_host, *const loupe_options, *mut *mut c_void, *mut loupe_error) -> loupe_status>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}
layout!(loupe_component, 120, struct_size 0, reserved 4, interface_id 8, name 16, aliases 24, alias_count 32, help 40, gives 48, give_count 56, example 64, options 72, option_count 80, table 88, context 96, create 104, destroy 112);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_plugin {
    pub struct_size: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub description: *const c_char,
    pub author: *const c_char,
    pub license: *const c_char,
    pub homepage: *const c_char,
    pub components: *const *const loupe_component,
    pub component_count: usize,
    pub unload: Option<unsafe extern "C" fn()>,
}
layout!(loupe_plugin, 80, struct_size 0, reserved 4, name 8, version 16, description 24, author 32, license 40, homepage 48, components 56, component_count 64, unload 72);
