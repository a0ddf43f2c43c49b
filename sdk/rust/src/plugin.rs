//! The components of a plugin, created when the host asks for them and never freed; and the options that they get.

use crate::abi::*;
use crate::boundary::{c_text, copied, guarded, text_of, there, Result};
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

/// A text that is never freed, because the declarations of a plugin must live as long as the process.
fn forever(text: &str) -> *const c_char {
    c_text(text).into_raw()
}

/// The declaration of one option.
pub struct DeclaredOption(loupe_option);

impl DeclaredOption {
    fn new(kind: u32, name: &str, help: &str, value: loupe_option_value) -> Self {
        DeclaredOption(loupe_option {
            r#type: kind,
            name: forever(name),
            help: forever(help),
            default_value: Box::leak(Box::new(loupe_option_value { r#type: kind, ..value })),
            ..loupe_option::EMPTY
        })
    }
    pub fn number(name: &str, default: f64, help: &str) -> Self {
        let value = loupe_option_value { number: default, ..loupe_option_value::EMPTY };
        DeclaredOption::new(LOUPE_TYPE_NUMBER, name, help, value)
    }
    pub fn boolean(name: &str, default: bool, help: &str) -> Self {
        let value = loupe_option_value { integer: default as i64, ..loupe_option_value::EMPTY };
        DeclaredOption::new(LOUPE_TYPE_BOOLEAN, name, help, value)
    }
    pub fn text(name: &str, default: &str, help: &str) -> Self {
        let value = loupe_option_value { string: forever(default), ..loupe_option_value::EMPTY };
        DeclaredOption::new(LOUPE_TYPE_STRING, name, help, value)
    }
    /// Sets the least and the greatest number that is accepted.
    pub fn between(mut self, minimum: f64, maximum: f64) -> Self {
        let flags = LOUPE_OPTION_HAS_MINIMUM | LOUPE_OPTION_HAS_MAXIMUM;
        self.0 = loupe_option { flags, minimum, maximum, ..self.0 };
        self
    }
}

/// The options as the user set them; the others have their defaults.
pub struct Options(Vec<loupe_option_value>);

impl Options {
    pub(crate) unsafe fn from(options: *const loupe_options) -> Result<Self> {
        let options = there(copied(options))?;
        Ok(Options((0..options.value_count).filter_map(|i| copied(*options.values.add(i))).collect()))
    }
    pub fn number(&self, name: &str) -> Result<f64> {
        self.value(name, LOUPE_TYPE_NUMBER).map(|value| value.number)
    }
    pub fn boolean(&self, name: &str) -> Result<bool> {
        self.value(name, LOUPE_TYPE_BOOLEAN).map(|value| value.integer != 0)
    }
    pub fn text(&self, name: &str) -> Result<String> {
        self.value(name, LOUPE_TYPE_STRING).map(|value| unsafe { text_of(value.string) })
    }
    fn value(&self, name: &str, kind: u32) -> Result<&loupe_option_value> {
        let found = self.0.iter().find(|value| value.r#type == kind && unsafe { text_of(value.name) } == name);
        found.ok_or_else(|| {
            format!("the option '{}' is read, and not declared with that type in options()", name).into()
        })
    }
}

/// Makes the descriptor of a component with its table of functions.
pub(crate) fn describe(
    name: &str,
    help: &str,
    options: Vec<DeclaredOption>,
    described: loupe_component,
) -> *const loupe_component {
    let options = options.into_iter().map(|option| Box::leak(Box::new(option.0)) as *const loupe_option);
    let options = Box::leak(options.collect::<Vec<_>>().into_boxed_slice());
    Box::leak(Box::new(loupe_component {
        name: forever(name),
        help: forever(help),
        options: options.as_ptr(),
        option_count: options.len(),
        ..described
    }))
}

/// Ends the source file of a kind of component: defines `component::<T>(name)`, which returns a descriptor. The file must
/// have the functions `create` and `destroy`.
macro_rules! kind {
    ($kind:ident, $id:ident, $table:ident { $($member:ident: $function:expr,)+ }) => {
        unsafe extern "C" fn make<T: $kind>(
            _: *const loupe_component,
            _: *const loupe_host,
            options: *const loupe_options,
            this: *mut *mut c_void,
            error: *mut loupe_error,
        ) -> loupe_status {
            guarded(error, || {
                *this = create::<T>(&Options::from(options)?)?;
                Ok(())
            })
        }
        unsafe extern "C" fn unmake<T: $kind>(this: *mut c_void) {
            guarded(std::ptr::null_mut(), || Ok(destroy::<T>(this)));
        }
        #[doc(hidden)]
        pub fn component<T: $kind>(name: &str) -> *const loupe_component {
            let table = Box::leak(Box::new($table { $($member: $function,)+ ..$table::EMPTY }));
            let described = loupe_component {
                interface_id: $id.as_ptr() as *const std::os::raw::c_char,
                table: table as *const $table as *const c_void,
                create: Some(make::<T>),
                destroy: Some(unmake::<T>),
                ..loupe_component::EMPTY
            };
            crate::plugin::describe(name, T::HELP, T::options(), described)
        }
    };
}

pub use crate::gatherer::component as gatherer;
pub use crate::lens::component as lens;
pub use crate::preprocessor::component as preprocessor;
pub use crate::visualizer::component as visualizer;

/// The function behind the plugin's entry. Calls `components` once.
pub unsafe fn interface(
    id: *const c_char,
    name: &str,
    version: &str,
    components: fn() -> Vec<*const loupe_component>,
) -> *const c_void {
    static MADE: Mutex<usize> = Mutex::new(0); // the address of the plugin's only description
    if id.is_null() || CStr::from_ptr(id).to_bytes_with_nul() != LOUPE_PLUGIN_ID {
        return null();
    }
    let mut place = null(); // if a declaration panics, the host reports that the plugin offers nothing
    guarded(null_mut(), || {
        let mut made = MADE.lock().map_err(|_| "a declaration has panicked before")?;
        if *made == 0 {
            let components = Box::leak(components().into_boxed_slice());
            let plugin = loupe_plugin {
                name: forever(name),
                version: forever(version),
                components: components.as_ptr(),
                component_count: components.len(),
                ..loupe_plugin::EMPTY
            };
            *made = Box::leak(Box::new(plugin)) as *const loupe_plugin as usize;
        }
        place = *made as *const c_void;
        Ok(())
    });
    place
}

/// The note of the plugin's components in its file; see LOUPE_ELF_SECTION.
#[repr(C, align(4))]
pub struct Note<const SIZE: usize>(loupe_elf_note, [u8; SIZE]);
impl<const SIZE: usize> Note<SIZE> {
    pub const fn new(lines: &str) -> Self {
        let name = unsafe { std::mem::transmute(*b"Loupe\0\0\0") };
        let name_size = LOUPE_ELF_NAME.len() as u32;
        let head = loupe_elf_note { name_size, text_size: SIZE as u32, version: LOUPE_ELF_VERSION, name };
        assert!(lines.len() == SIZE);
        Note(head, unsafe { *(lines.as_ptr() as *const [u8; SIZE]) })
    }
}

/// Exports a plugin: `loupe::plugin!("dead_units", "1.0", "dead_units" => DeadUnits);` defines its one symbol. The second
/// name, in snake_case, is the lens's name in YAML. More components follow after commas; other kinds than lenses are named:
/// `gatherer "every_other" => EveryOther`, `preprocessor …`, `visualizer …`.
#[macro_export]
macro_rules! plugin {
    ($name:expr, $version:expr, $($($of:ident)? $component:literal => $kind:ty),+ $(,)?) => {
        unsafe extern "C" fn loupe_get_extension(id: *const std::os::raw::c_char) -> *const std::os::raw::c_void {
            $crate::plugin::interface(id, $name, $version, || {
                vec![$($crate::kind_of!(make $($of)? => $kind, $component)),+]
            })
        }
        const LOUPE_LINES: &str = concat!($($crate::kind_of!(id $($of)?), " ", $component, "\n",)+ "\0");
        #[cfg(not(any(target_vendor = "apple", windows)))] // their files have no notes
        #[used]
        #[link_section = ".note.loupe"]
        static LOUPE_NOTE: $crate::plugin::Note<{ LOUPE_LINES.len() }> = $crate::plugin::Note::new(LOUPE_LINES);
        #[no_mangle]
        #[allow(non_upper_case_globals)]
        pub static loupe_plugin_entry: $crate::abi::loupe_entry = $crate::abi::loupe_entry {
            magic: $crate::abi::LOUPE_MAGIC,
            abi_major: $crate::abi::LOUPE_ABI_MAJOR,
            abi_minor: $crate::abi::LOUPE_ABI_MINOR,
            get_extension: Some(loupe_get_extension),
        };
    };
}
/// The properties of a kind of component, for plugin!.
#[doc(hidden)]
#[macro_export]
macro_rules! kind_of {
    (id) => { "loupe.lens/1" };
    (id lens) => { "loupe.lens/1" };
    (id gatherer) => { "loupe.gatherer/1" };
    (id preprocessor) => { "loupe.preprocessor/1" };
    (id visualizer) => { "loupe.visualizer/1" };
    (make => $kind:ty, $component:literal) => { $crate::plugin::lens::<$kind>($component) };
    (make lens => $kind:ty, $component:literal) => { $crate::plugin::lens::<$kind>($component) };
    (make gatherer => $kind:ty, $component:literal) => { $crate::plugin::gatherer::<$kind>($component) };
    (make preprocessor => $kind:ty, $component:literal) => { $crate::plugin::preprocessor::<$kind>($component) };
    (make visualizer => $kind:ty, $component:literal) => { $crate::plugin::visualizer::<$kind>($component) };
}
