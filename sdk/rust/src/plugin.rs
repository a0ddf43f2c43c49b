//! What a plugin offers, made when the host asks for it and kept for good.

use crate::abi::*;
use crate::layer_lens::{create, destroy, table, LayerLens};
use crate::options::{all_forever, forever, DeclaredOption};
use crate::report::{BANDS, LINES};
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

fn with_none<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().copied().chain(std::iter::once("none")).collect()
}

/// The descriptor of a lens.
pub fn component<T: LayerLens>() -> *const loupe_component {
    let mut options = T::options();
    options.push(DeclaredOption::texts("include", &[], "look at exactly these modules: types, families such as linear, names, or globs; an entry written +Linear adds to what is looked at anyway", &[]));
    options.push(DeclaredOption::texts("exclude", &[], "modules left out, in the same words without +; wins over include", &[]));
    options.push(DeclaredOption::texts("line", &["mean"], "the lines drawn of an epoch's values", &with_none(&LINES)));
    options.push(DeclaredOption::texts("range", &["std", "min-max"], "the bands drawn of an epoch's values", &with_none(&BANDS)));
    let options: Vec<*const loupe_option> = options.into_iter().map(DeclaredOption::forever).collect();
    let options: &[*const loupe_option] = Box::leak(options.into_boxed_slice());
    let component = loupe_component {
        struct_size: std::mem::size_of::<loupe_component>() as u32,
        reserved: 0,
        interface_id: LOUPE_LENS_ID.as_ptr() as *const c_char,
        name: forever(T::NAME),
        aliases: all_forever(&[]),
        alias_count: 0,
        help: forever(T::HELP),
        gives: null(),
        give_count: 0,
        example: null(),
        options: options.as_ptr(),
        option_count: options.len(),
        table: table::<T>(),
        context: null_mut(),
        create: Some(create::<T>),
        destroy: Some(destroy::<T>),
    };
    Box::leak(Box::new(component))
}

/// Answers the plugin's get_interface. `components` is called once.
///
/// # Safety
/// `id` ends with a zero byte.
pub unsafe fn interface(
    id: *const c_char,
    name: &str,
    version: &str,
    components: impl FnOnce() -> Vec<*const loupe_component>,
) -> *const c_void {
    static MADE: Mutex<usize> = Mutex::new(0); // the address of the plugin's one description
    if id.is_null() || CStr::from_ptr(id).to_bytes_with_nul() != LOUPE_PLUGIN_ID {
        return null();
    }
    let mut made = match MADE.lock() {
        Ok(made) => made,
        Err(_) => return null(), // a declaration has panicked: the host tells of a plugin that offers nothing
    };
    if *made == 0 {
        let components: &[*const loupe_component] = Box::leak(components().into_boxed_slice());
        let plugin = loupe_plugin {
            struct_size: std::mem::size_of::<loupe_plugin>() as u32,
            reserved: 0,
            name: forever(name),
            version: forever(version),
            description: null(),
            author: null(),
            license: null(),
            homepage: null(),
            components: components.as_ptr(),
            component_count: components.len(),
            unload: None,
        };
        *made = Box::leak(Box::new(plugin)) as *const loupe_plugin as usize;
    }
    *made as *const c_void
}

/// Closes a plugin: `loupe::plugin!("dead_units", "1.0", DeadUnits);` exports its one symbol.
#[macro_export]
macro_rules! plugin {
    ($name:expr, $version:expr, $($lens:ty),+ $(,)?) => {
        unsafe extern "C" fn loupe_get_interface(id: *const std::os::raw::c_char) -> *const std::os::raw::c_void {
            std::panic::catch_unwind(|| $crate::plugin::interface(id, $name, $version, || {
                vec![$($crate::plugin::component::<$lens>()),+]
            }))
            .unwrap_or(std::ptr::null())
        }
        #[no_mangle]
        #[allow(non_upper_case_globals)]
        pub static loupe_plugin_entry: $crate::abi::loupe_entry = $crate::abi::loupe_entry {
            magic: $crate::abi::LOUPE_MAGIC,
            abi_major: $crate::abi::LOUPE_ABI_MAJOR,
            abi_minor: $crate::abi::LOUPE_ABI_MINOR,
            get_interface: Some(loupe_get_interface),
        };
    };
}
