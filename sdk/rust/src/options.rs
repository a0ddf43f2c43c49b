//! Options: what a lens declares, and what the user set.

use crate::abi::*;
use crate::boundary::{need, text_of, Failure};
use crate::layout::reaches;
use std::ffi::CString;
use std::os::raw::c_char;
use std::ptr::null;

/// A text that lives as long as the process, as what a plugin declares does.
pub(crate) fn forever(text: &str) -> *const c_char {
    CString::new(text).expect("a text has no zero byte").into_raw()
}
pub(crate) fn all_forever(texts: &[&str]) -> *const *const c_char {
    let pointers: Vec<*const c_char> = texts.iter().map(|text| forever(text)).collect();
    Box::leak(pointers.into_boxed_slice()).as_ptr()
}

/// One option, declared once.
pub struct DeclaredOption(loupe_option);

impl DeclaredOption {
    /// A number between two bounds, which may be infinite.
    pub fn number(name: &str, default: f64, help: &str, minimum: f64, maximum: f64) -> Self {
        let value = loupe_option_value { number: default, ..nothing(LOUPE_OPTION_NUMBER) };
        DeclaredOption(loupe_option { minimum, maximum, ..declared(name, help, value) })
    }
    pub fn boolean(name: &str, default: bool, help: &str) -> Self {
        let value = loupe_option_value { integer: default as i64, ..nothing(LOUPE_OPTION_BOOLEAN) };
        DeclaredOption(declared(name, help, value))
    }
    /// A list of texts; `choices` is empty where anything goes.
    pub fn texts(name: &str, default: &[&str], help: &str, choices: &[&str]) -> Self {
        let strings = all_forever(default);
        let value = loupe_option_value { strings, string_count: default.len(), ..nothing(LOUPE_OPTION_STRINGS) };
        let choice_list = if choices.is_empty() { null() } else { all_forever(choices) };
        let choice_count = choices.len();
        DeclaredOption(loupe_option { choices: choice_list, choice_count, ..declared(name, help, value) })
    }
    pub(crate) fn forever(self) -> *const loupe_option {
        Box::leak(Box::new(self.0))
    }
}

fn nothing(kind: u32) -> loupe_option_value {
    loupe_option_value {
        struct_size: std::mem::size_of::<loupe_option_value>() as u32,
        r#type: kind,
        name: null(),
        integer: 0,
        number: 0.0,
        string: null(),
        strings: null(),
        string_count: 0,
        map: null(),
    }
}
fn declared(name: &str, help: &str, default: loupe_option_value) -> loupe_option {
    loupe_option {
        struct_size: std::mem::size_of::<loupe_option>() as u32,
        r#type: default.r#type,
        flags: 0,
        reserved: 0,
        name: forever(name),
        help: forever(help),
        default_value: Box::leak(Box::new(default)),
        minimum: f64::NEG_INFINITY,
        maximum: f64::INFINITY,
        choices: null(),
        choice_count: 0,
        names: null(),
        options_of: null(),
    }
}

/// The options as the user set them, with the defaults of those that were not. Read them in LayerLens::new.
#[derive(Clone, Copy)]
pub struct Options<'a>(&'a loupe_options);

impl<'a> Options<'a> {
    pub(crate) unsafe fn from(options: *const loupe_options) -> Result<Options<'a>, Failure> {
        need(reaches!(options, value_count), "the options")?;
        for i in 0..(*options).value_count {
            need(reaches!(*(*options).values.add(i), map), "an option's value")?;
        }
        Ok(Options(&*options))
    }
    pub fn number(&self, name: &str) -> Result<f64, Failure> {
        self.value(name, LOUPE_OPTION_NUMBER).map(|value| value.number)
    }
    pub fn boolean(&self, name: &str) -> Result<bool, Failure> {
        self.value(name, LOUPE_OPTION_BOOLEAN).map(|value| value.integer != 0)
    }
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Failure> {
        let value = self.value(name, LOUPE_OPTION_STRINGS)?;
        Ok((0..value.string_count).map(|i| unsafe { text_of(*value.strings.add(i)) }).collect())
    }
    fn value(&self, name: &str, kind: u32) -> Result<&'a loupe_option_value, Failure> {
        let all = (0..self.0.value_count).map(|i| unsafe { &**self.0.values.add(i) });
        let found = all.into_iter().find(|value| unsafe { text_of(value.name) } == name);
        match found {
            Some(value) if value.r#type == kind => Ok(value),
            Some(_) => Err(format!("the option '{}' is read as another type than it was declared with", name).into()),
            None => Err(format!("the option '{}' is read but was not declared; add it to options()", name).into()),
        }
    }
}
