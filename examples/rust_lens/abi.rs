//! The parts of loupe/abi.h that this lens uses, member for member. Contracts stand there; here is only the layout,
//! which the asserts at the end hold to what ABI 1.0 has on 64-bit systems.
#![allow(dead_code)]

use std::os::raw::{c_char, c_void};

pub const MAGIC: u64 = 0x0045_5055_4f4c_0001;
pub const ABI_MAJOR: u32 = 1;
pub const ABI_MINOR: u32 = 0;

pub type Status = i32;
pub const OK: Status = 0;
pub const NOT_FOUND: Status = 2;
pub const FAILED: Status = 4;

pub const FAMILY_ACTIVATION: u32 = 1;
pub const OPTION_NUMBER: u32 = 3;
pub const AGGREGATION_MEAN: u32 = 1;
pub const TAG_PROBABILITY: u32 = 2;
pub const PLOT_BIG: u32 = 1 << 1;
pub const PLOT_ANNOTATE: u32 = 1 << 2;

/// A text of C's, from a Rust literal.
macro_rules! text {
    ($literal:expr) => {
        concat!($literal, "\0").as_ptr() as *const std::os::raw::c_char
    };
}
pub(crate) use text;

#[repr(C)]
pub struct Error {
    pub struct_size: u32,
    pub capacity: u32,
    pub message: *mut c_char,
}

#[repr(C)]
pub struct OptionValue {
    pub struct_size: u32,
    pub kind: u32,
    pub name: *const c_char,
    pub integer: i64,
    pub number: f64,
    pub string: *const c_char,
    pub strings: *const *const c_char,
    pub string_count: usize,
    pub map: *const Options,
}

#[repr(C)]
pub struct Options {
    pub struct_size: u32,
    pub reserved: u32,
    pub values: *const *const OptionValue,
    pub value_count: usize,
}

/// loupe_option; `Option` is Rust's own word.
#[repr(C)]
pub struct DeclaredOption {
    pub struct_size: u32,
    pub kind: u32,
    pub flags: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub help: *const c_char,
    pub default_value: *const OptionValue,
    pub minimum: f64,
    pub maximum: f64,
    pub choices: *const *const c_char,
    pub choice_count: usize,
    pub names: *const c_char,
    pub options_of: *const c_char,
}

#[repr(C)]
pub struct Module {
    pub struct_size: u32,
    pub flags: u32,
    pub id: u64,
    pub family: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub path: *const c_char,
    pub model: *const c_char,
    pub type_name: *const c_char,
    pub full_type: *const c_char,
    pub parameters: *const *const c_void,
    pub parameter_count: usize,
    pub settings: *const c_char,
}

#[repr(C)]
pub struct Watch {
    pub struct_size: u32,
    pub reserved: u32,
    pub module: *const Module,
    pub gatherer: *const c_char,
    pub gatherer_options: *const Options,
    pub label: *const c_char,
    pub preprocessor: *const c_char,
    pub preprocessor_options: *const Options,
    pub own_interface: *const c_void,
    pub own_preprocessor: *mut c_void,
}

/// loupe_source, which only the host looks into.
pub enum Source {}

#[repr(C)]
pub struct Wiring {
    pub struct_size: u32,
    pub reserved: u32,
    pub context: *mut c_void,
    pub watch: unsafe extern "C" fn(*mut c_void, *const Watch, *mut *mut Source, *mut Error) -> Status,
    pub series_count: unsafe extern "C" fn(*mut c_void, *mut Source) -> usize,
    pub series_name:
        unsafe extern "C" fn(*mut c_void, *mut Source, usize, *mut c_char, usize, *mut usize, *mut Error) -> Status,
    pub aggregate: unsafe extern "C" fn(*mut c_void, *mut Source, usize, u32, *mut f64, *mut Error) -> Status,
    pub values: unsafe extern "C" fn(*mut c_void, *mut Source, usize, *mut f64, usize, *mut usize, *mut Error) -> Status,
    pub get_extension: unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void,
}

#[repr(C)]
pub struct Tag {
    pub struct_size: u32,
    pub kind: u32,
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

#[repr(C)]
pub struct Value {
    pub struct_size: u32,
    pub flags: u32,
    pub tag: *const c_char,
    pub layer: *const c_char,
    pub module: *const Module,
    pub line: *const c_char,
    pub value: f64,
    pub events: u64,
}

#[repr(C)]
pub struct Sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub context: *mut c_void,
    pub tag: unsafe extern "C" fn(*mut c_void, *const Tag, *mut Error) -> Status,
    pub value: unsafe extern "C" fn(*mut c_void, *const Value, *mut Error) -> Status,
    pub range: *const c_void,
    pub histogram: *const c_void,
    pub finding: *const c_void,
}

#[repr(C)]
pub struct Lens {
    pub struct_size: u32,
    pub reserved: u32,
    pub get_extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
    pub attach: unsafe extern "C" fn(*mut c_void, *const Wiring, *mut Error) -> Status,
    pub visit: unsafe extern "C" fn(*mut c_void, *const Module, *mut Error) -> Status,
    pub forget: Option<unsafe extern "C" fn(*mut c_void, *const Module)>,
    pub step: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const Sink, *mut Error) -> Status>,
    pub introduce: Option<unsafe extern "C" fn(*mut c_void, *const Sink, *mut Error) -> Status>,
    pub report: unsafe extern "C" fn(*mut c_void, *const c_void, *const Sink, *mut Error) -> Status,
    pub query: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut f64, *mut Error) -> Status>,
}

#[repr(C)]
pub struct Component {
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
    pub options: *const *const DeclaredOption,
    pub option_count: usize,
    pub table: *const Lens,
    pub context: *mut c_void,
    pub create:
        unsafe extern "C" fn(*const Component, *const c_void, *const Options, *mut *mut c_void, *mut Error) -> Status,
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
pub struct Plugin {
    pub struct_size: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub description: *const c_char,
    pub author: *const c_char,
    pub license: *const c_char,
    pub homepage: *const c_char,
    pub components: *const *const Component,
    pub component_count: usize,
    pub unload: Option<unsafe extern "C" fn()>,
}

#[repr(C)]
pub struct Entry {
    pub magic: u64,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub get_interface: unsafe extern "C" fn(*const c_char) -> *const c_void,
}

/// A table or declaration that is never written to, so that any thread may read it, with the pointers it holds.
#[repr(transparent)]
pub struct Constant<T>(pub T);
unsafe impl<T> Sync for Constant<T> {}

/// Bytes that hold their own place, so that reading the first byte of a member gives its offset. (Rust's offset_of!
/// is younger than what some Debians have.)
#[repr(C, align(8))]
pub struct Places([u8; 256]);
pub const PLACES: Places = {
    let mut bytes = [0; 256];
    let mut i = 0;
    while i < 256 {
        bytes[i] = i as u8;
        i += 1;
    }
    Places(bytes)
};

/// The build fails where a struct of ABI 1.0 has another size, or a member another place.
macro_rules! layout {
    ($name:ident, $size:expr, $($member:ident $offset:expr),*) => {
        const _: () = {
            assert!(std::mem::size_of::<$name>() == $size, "a struct has another size than in C");
            let at = &PLACES as *const Places as *const $name;
            $(assert!(unsafe { *(std::ptr::addr_of!((*at).$member) as *const u8) } == $offset,
                      "a member stands in another place than in C");)*
        };
    };
}

layout!(Error, 16, struct_size 0, capacity 4, message 8);
layout!(OptionValue, 64, struct_size 0, kind 4, name 8, integer 16, number 24, string 32, strings 40, string_count 48,
        map 56);
layout!(Options, 24, struct_size 0, reserved 4, values 8, value_count 16);
layout!(DeclaredOption, 88, struct_size 0, kind 4, flags 8, reserved 12, name 16, help 24, default_value 32, minimum 40,
        maximum 48, choices 56, choice_count 64, names 72, options_of 80);
layout!(Module, 88, struct_size 0, flags 4, id 8, family 16, reserved 20, name 24, path 32, model 40, type_name 48,
        full_type 56, parameters 64, parameter_count 72, settings 80);
layout!(Watch, 72, struct_size 0, reserved 4, module 8, gatherer 16, gatherer_options 24, label 32, preprocessor 40,
        preprocessor_options 48, own_interface 56, own_preprocessor 64);
layout!(Wiring, 64, struct_size 0, reserved 4, context 8, watch 16, series_count 24, series_name 32, aggregate 40,
        values 48, get_extension 56);
layout!(Tag, 80, struct_size 0, kind 4, flags 8, reserved 12, id 16, title 24, unit 32, description 40, healthy 48,
        advice 56, y_minimum 64, y_maximum 72);
layout!(Value, 56, struct_size 0, flags 4, tag 8, layer 16, module 24, line 32, value 40, events 48);
layout!(Sink, 56, struct_size 0, reserved 4, context 8, tag 16, value 24, range 32, histogram 40, finding 48);
layout!(Lens, 72, struct_size 0, reserved 4, get_extension 8, attach 16, visit 24, forget 32, step 40, introduce 48,
        report 56, query 64);
layout!(Component, 120, struct_size 0, reserved 4, interface_id 8, name 16, aliases 24, alias_count 32, help 40,
        gives 48, give_count 56, example 64, options 72, option_count 80, table 88, context 96, create 104, destroy 112);
layout!(Plugin, 80, struct_size 0, reserved 4, name 8, version 16, description 24, author 32, license 40, homepage 48,
        components 56, component_count 64, unload 72);
layout!(Entry, 24, magic 0, abi_major 8, abi_minor 12, get_interface 16);
