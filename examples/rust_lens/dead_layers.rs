//! A lens in Rust: of each activation layer the share of units that are silent in a whole batch, and the share of
//! layers in which more than `threshold` of them are.

mod abi;
mod boundary;

use abi::{text, Constant};
use boundary::{checked, guarded, Failure};
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

struct Layer {
    module: *const abi::Module,
    source: *mut abi::Source,
}

struct DeadLayers {
    threshold: f64,
    wiring: *const abi::Wiring,
    layers: Vec<Layer>,
    last_share: Option<f64>,
}

impl DeadLayers {
    unsafe fn new(options: *const abi::Options) -> Result<Self, Failure> {
        let values = std::slice::from_raw_parts((*options).values, (*options).value_count);
        let threshold = values.iter().find(|value| CStr::from_ptr((***value).name).to_bytes() == b"threshold");
        let threshold = threshold.ok_or_else(|| "the host gives no value of the option 'threshold'".to_string())?;
        Ok(DeadLayers { threshold: (**threshold).number, wiring: null(), layers: Vec::new(), last_share: None })
    }

    unsafe fn visit(&mut self, module: *const abi::Module, error: *mut abi::Error) -> Result<(), Failure> {
        if (*module).family != abi::FAMILY_ACTIVATION {
            return Ok(());
        }
        let watch = abi::Watch {
            struct_size: std::mem::size_of::<abi::Watch>() as u32,
            reserved: 0,
            module,
            gatherer: text!("forward"),
            gatherer_options: null(),
            label: null(),
            preprocessor: text!("output_activation"),
            preprocessor_options: null(),
            own_interface: null(),
            own_preprocessor: null_mut(),
        };
        let mut source = null_mut();
        checked(((*self.wiring).watch)((*self.wiring).context, &watch, &mut source, error))?;
        self.layers.push(Layer { module, source });
        Ok(())
    }

    /// The mean share of dead units over the epoch; none when the layer did not run.
    unsafe fn dead_units(&self, layer: &Layer, error: *mut abi::Error) -> Result<Option<f64>, Failure> {
        let wiring = &*self.wiring;
        let is_death = |series: &usize| {
            let (mut name, mut length) = ([0 as c_char; 8], 0);
            let status =
                (wiring.series_name)(wiring.context, layer.source, *series, name.as_mut_ptr(), name.len(), &mut length, error);
            status == abi::OK && CStr::from_ptr(name.as_ptr()).to_bytes() == b"death" && length == 5
        };
        let count = (wiring.series_count)(wiring.context, layer.source);
        let series = (0..count).find(is_death).ok_or_else(|| "output_activation gives no series 'death'".to_string())?;
        let mut share = f64::NAN;
        let mean = abi::AGGREGATION_MEAN;
        let status = (wiring.aggregate)(wiring.context, layer.source, series, mean, &mut share, error);
        if status == abi::NOT_FOUND {
            return Ok(None);
        }
        checked(status)?;
        Ok(Some(share).filter(|share| share.is_finite()))
    }

    unsafe fn introduce(&self, sink: &abi::Sink, error: *mut abi::Error) -> Result<(), Failure> {
        let units = probability(text!("Dead Units"), text!("The share of a layer's units that are silent in a whole batch."), 0);
        let layers = probability(text!("Dead Layers"), text!("The share of layers whose dead units pass the threshold."), abi::PLOT_BIG);
        checked((sink.tag)(sink.context, &units, error))?;
        checked((sink.tag)(sink.context, &layers, error))
    }

    unsafe fn report(&mut self, sink: &abi::Sink, error: *mut abi::Error) -> Result<(), Failure> {
        let (mut seen, mut dead) = (0, 0);
        for layer in &self.layers {
            let share = match self.dead_units(layer, error)? {
                Some(share) => share,
                None => continue,
            };
            seen += 1;
            dead += (share > self.threshold) as u32;
            let value = shown(text!("Dead Units"), text!("mean"), share, layer.module);
            checked((sink.value)(sink.context, &value, error))?;
        }
        self.last_share = if seen > 0 { Some(f64::from(dead) / f64::from(seen)) } else { None };
        match self.last_share {
            Some(share) => {
                let value = shown(text!("Dead Layers"), text!("share"), share, null());
                checked((sink.value)(sink.context, &value, error))
            }
            None => Ok(()),
        }
    }
}

fn probability(id: *const c_char, description: *const c_char, flags: u32) -> abi::Tag {
    abi::Tag {
        struct_size: std::mem::size_of::<abi::Tag>() as u32,
        kind: abi::TAG_PROBABILITY,
        flags: flags | abi::PLOT_ANNOTATE,
        reserved: 0,
        id,
        title: null(),
        unit: null(),
        description,
        healthy: null(),
        advice: null(),
        y_minimum: 0.0,
        y_maximum: 1.0,
    }
}

/// Of a module, or of the whole model where that is null.
unsafe fn shown(tag: *const c_char, line: *const c_char, value: f64, module: *const abi::Module) -> abi::Value {
    let layer = if module.is_null() { null() } else { (*module).name };
    let struct_size = std::mem::size_of::<abi::Value>() as u32;
    abi::Value { struct_size, flags: 0, tag, layer, module, line, value, events: 0 }
}

// ---- The functions that the host calls ----

unsafe fn lens<'a>(this: *mut c_void) -> &'a mut DeadLayers {
    &mut *(this as *mut DeadLayers)
}

unsafe extern "C" fn create(
    _: *const abi::Component,
    _: *const c_void,
    options: *const abi::Options,
    this: *mut *mut c_void,
    error: *mut abi::Error,
) -> abi::Status {
    guarded(error, || {
        *this = Box::into_raw(Box::new(DeadLayers::new(options)?)) as *mut c_void;
        Ok(())
    })
}
unsafe extern "C" fn destroy(this: *mut c_void) {
    guarded(null_mut(), || {
        drop(Box::from_raw(this as *mut DeadLayers));
        Ok(())
    });
}
unsafe extern "C" fn attach(this: *mut c_void, wiring: *const abi::Wiring, error: *mut abi::Error) -> abi::Status {
    guarded(error, || {
        lens(this).wiring = wiring;
        Ok(())
    })
}
unsafe extern "C" fn visit(this: *mut c_void, module: *const abi::Module, error: *mut abi::Error) -> abi::Status {
    guarded(error, || lens(this).visit(module, error))
}
unsafe extern "C" fn forget(this: *mut c_void, module: *const abi::Module) {
    guarded(null_mut(), || {
        lens(this).layers.retain(|layer| layer.module != module);
        Ok(())
    });
}
unsafe extern "C" fn introduce(this: *mut c_void, sink: *const abi::Sink, error: *mut abi::Error) -> abi::Status {
    guarded(error, || lens(this).introduce(&*sink, error))
}
unsafe extern "C" fn report(
    this: *mut c_void,
    _: *const c_void,
    sink: *const abi::Sink,
    error: *mut abi::Error,
) -> abi::Status {
    guarded(error, || lens(this).report(&*sink, error))
}
unsafe extern "C" fn query(
    this: *mut c_void,
    key: *const c_char,
    value: *mut f64,
    error: *mut abi::Error,
) -> abi::Status {
    guarded(error, || match lens(this).last_share {
        Some(share) if CStr::from_ptr(key).to_bytes() == b"dead_layers" => {
            *value = share;
            Ok(())
        }
        _ => Err(Failure { status: abi::NOT_FOUND, message: "the lens has no such number".to_string() }),
    })
}

// ---- What the plugin offers ----

static LENS: Constant<abi::Lens> = Constant(abi::Lens {
    struct_size: std::mem::size_of::<abi::Lens>() as u32,
    reserved: 0,
    get_extension: None,
    attach,
    visit,
    forget: Some(forget),
    step: None,
    introduce: Some(introduce),
    report,
    query: Some(query),
});

static HALF: Constant<abi::OptionValue> = Constant(abi::OptionValue {
    struct_size: std::mem::size_of::<abi::OptionValue>() as u32,
    kind: abi::OPTION_NUMBER,
    name: null(),
    integer: 0,
    number: 0.5,
    string: null(),
    strings: null(),
    string_count: 0,
    map: null(),
});
static THRESHOLD: Constant<abi::DeclaredOption> = Constant(abi::DeclaredOption {
    struct_size: std::mem::size_of::<abi::DeclaredOption>() as u32,
    kind: abi::OPTION_NUMBER,
    flags: 0,
    reserved: 0,
    name: text!("threshold"),
    help: text!("a layer is dead when more than this share of its units is"),
    default_value: &HALF.0,
    minimum: 0.0,
    maximum: 1.0,
    choices: null(),
    choice_count: 0,
    names: null(),
    options_of: null(),
});
static OPTIONS: Constant<[*const abi::DeclaredOption; 1]> = Constant([&THRESHOLD.0]);

static GIVES: Constant<[*const c_char; 2]> = Constant([
    text!("Dead Units: the share of each activation layer's units that are silent in a whole batch"),
    text!("Dead Layers: the share of layers in which more than the threshold are"),
]);

static COMPONENT: Constant<abi::Component> = Constant(abi::Component {
    struct_size: std::mem::size_of::<abi::Component>() as u32,
    reserved: 0,
    interface_id: text!("loupe.lens/1"),
    name: text!("dead_layers"),
    aliases: null(),
    alias_count: 0,
    help: text!("the share of layers most of whose units are dead"),
    gives: &GIVES.0 as *const _ as *const *const c_char,
    give_count: 2,
    example: text!("dead_layers: {threshold: 0.9}"),
    options: &OPTIONS.0 as *const _ as *const *const abi::DeclaredOption,
    option_count: 1,
    table: &LENS.0,
    context: null_mut(),
    create,
    destroy,
});
static COMPONENTS: Constant<[*const abi::Component; 1]> = Constant([&COMPONENT.0]);

static PLUGIN: Constant<abi::Plugin> = Constant(abi::Plugin {
    struct_size: std::mem::size_of::<abi::Plugin>() as u32,
    reserved: 0,
    name: text!("dead_layers"),
    version: text!("0.1.0"),
    description: text!("An example of a lens in Rust."),
    author: text!("the authors of Loupe"),
    license: text!("MIT"),
    homepage: null(),
    components: &COMPONENTS.0 as *const _ as *const *const abi::Component,
    component_count: 1,
    unload: None,
});

unsafe extern "C" fn get_interface(id: *const c_char) -> *const c_void {
    if CStr::from_ptr(id).to_bytes() == b"loupe.plugin/1" {
        return &PLUGIN.0 as *const abi::Plugin as *const c_void;
    }
    null()
}

/// The plugin's one symbol.
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static loupe_plugin_entry: abi::Entry =
    abi::Entry { magic: abi::MAGIC, abi_major: abi::ABI_MAJOR, abi_minor: abi::ABI_MINOR, get_interface };
