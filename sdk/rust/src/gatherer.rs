//! A gatherer: chooses the events of a module that preprocessors get.

use crate::abi::*;
use crate::boundary::{asked, c_text, copied, guarded, or_null, text_or_none, there, Result};
use crate::plugin::{DeclaredOption, Options};
use crate::view::{Event, Module};
use std::os::raw::{c_char, c_void};

/// Subscribes to taps of one module, and passes their events on to preprocessors. Its calls never overlap.
pub trait Gatherer: Sized + Send + 'static {
    /// A description in one line.
    const HELP: &'static str;
    /// Whether `event` is called. Without it every event is passed on unchanged, which costs least.
    const EVENTS: bool = false;

    fn options() -> Vec<DeclaredOption> {
        Vec::new()
    }
    fn new(options: &Options) -> Result<Self>;
    /// Called once. `module`: None for pushed values. `label`: the name of the requested parameter or attribute.
    fn open(&mut self, taps: &Taps, module: Option<&Module>, label: Option<&str>) -> Result;
    /// Passes on the event, or a different one, or none. Must be quick, and must not allocate memory.
    fn event(&mut self, event: &Event, taps: &Taps) -> Result {
        taps.emit(&event.abi)
    }
}

/// The functions with which a gatherer uses its module.
pub struct Taps(loupe_taps);

impl Taps {
    /// `tap`: LOUPE_TAP_FORWARD, …; `label`: if the tap needs one; `index`: of the output or input, from 0. The status is
    /// LOUPE_NOT_FOUND if the module has no such parameter or attribute.
    pub fn subscribe(&self, tap: u32, label: Option<&str>, index: u32) -> Result {
        let label = label.map(c_text);
        let wanted = loupe_subscription { tap, label: or_null(&label), index, ..loupe_subscription::EMPTY };
        let subscribe = there(self.0.subscribe)?;
        asked(|error| unsafe { subscribe(self.0.context, &wanted, error) })
    }
    /// Passes the event on to the preprocessors, with the measurements that they requested. Call it only in `event`.
    pub fn emit(&self, event: &loupe_event) -> Result {
        let told = loupe_event { struct_size: event.struct_size.min(loupe_event::EMPTY.struct_size), ..*event };
        let emit = there(self.0.emit)?;
        asked(|error| unsafe { emit(self.0.context, &told, error) })
    }
}

/// A gatherer, and the functions that the host gave it.
struct Running<T> {
    gatherer: T,
    taps: Taps,
}

unsafe extern "C" fn open<T: Gatherer>(
    this: *mut c_void,
    taps: *const loupe_taps,
    module: *const loupe_module,
    label: *const c_char,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        let running = &mut *(this as *mut Running<T>);
        running.taps = Taps(there(copied(taps))?);
        let module = if module.is_null() { None } else { Some(Module::from(module)?) };
        running.gatherer.open(&running.taps, module.as_ref(), text_or_none(label).as_deref())
    })
}
unsafe extern "C" fn event<T: Gatherer>(
    this: *mut c_void,
    event: *const loupe_event,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        let running = &mut *(this as *mut Running<T>);
        running.gatherer.event(&Event { abi: there(copied(event))? }, &running.taps)
    })
}

unsafe fn create<T: Gatherer>(options: &Options) -> Result<*mut c_void> {
    let running = Running { gatherer: T::new(options)?, taps: Taps(loupe_taps::EMPTY) };
    Ok(Box::into_raw(Box::new(running)) as *mut c_void)
}
unsafe fn destroy<T: Gatherer>(this: *mut c_void) {
    drop(Box::from_raw(this as *mut Running<T>));
}

kind!(Gatherer, LOUPE_GATHERER_ID, loupe_gatherer {
    open: Some(open::<T>),
    event: if T::EVENTS { Some(event::<T>) } else { None },
});
