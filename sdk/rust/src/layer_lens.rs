//! A lens that shows numbers of layers.

use crate::abi::*;
use crate::boundary::{checked, guarded, need, text_of, Failure};
use crate::filter::Filter;
use crate::layout::reaches;
use crate::options::{DeclaredOption, Options};
use crate::report::{Lines, Report};
use crate::stream::{self, Function, Numbers, Stream};
use crate::view::{Event, Module};
use std::ffi::CString;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

/// What a lens says of each module; all else is here. It has the options `include`, `exclude`, `line` and `range`,
/// counts NaN and Inf apart, and is shown in a plot called after it.
pub trait LayerLens: Sized + Send + 'static {
    /// As YAML names it, in snake_case: "dead_units" is shown as "Dead Units".
    const NAME: &'static str;
    /// One line.
    const HELP: &'static str;
    /// What its plot is called; as it is itself where that is empty.
    const TAG: &'static str = "";
    /// LOUPE_TAG_NUMERICAL, LOUPE_TAG_PROBABILITY, …
    const TAG_TYPE: u32 = LOUPE_TAG_NUMERICAL;

    /// Its own options, besides those that every such lens has.
    fn options() -> Vec<DeclaredOption> {
        Vec::new()
    }
    fn new(options: &Options) -> Result<Self, Failure>;
    /// What to look at of a module: `each.each(…)`, or nothing.
    fn visit(&self, module: &Module, each: &mut Each);
    /// At a tick, after the layers' numbers were told.
    fn report(&mut self, _layers: &[Layer], _report: &Report) -> Result<(), Failure> {
        Ok(())
    }
    /// A number of the last report by a key of the lens's own.
    fn query(&self, _key: &str) -> Option<f64> {
        None
    }
}

/// A stream that is watched, and the name that it is shown under.
pub struct Layer {
    pub name: String,
    pub(crate) module: *const loupe_module,
    pub(crate) source: *mut loupe_source,
    pub(crate) wiring: *const loupe_wiring,
}
// The host says when they may be used, and a lens's calls never overlap.
unsafe impl Send for Layer {}

impl Layer {
    /// This epoch's number: `aggregation` is LOUPE_AGGREGATE_MEAN, …. None where there were no events.
    pub fn get(&self, aggregation: u32) -> Option<f64> {
        self.get_at(0, aggregation)
    }
    /// The same for the numbers of one name: "head 3".
    pub fn get_of(&self, series: &str, aggregation: u32) -> Option<f64> {
        let found = (0..self.series_count()).find(|i| self.series_name(*i) == series)?;
        self.get_at(found, aggregation)
    }
    pub(crate) fn get_at(&self, series: usize, aggregation: u32) -> Option<f64> {
        let mut value = f64::NAN;
        let status = unsafe {
            let wiring = &*self.wiring;
            wiring.aggregate.unwrap()(wiring.context, self.source, series, aggregation, &mut value, null_mut())
        };
        Some(value).filter(|_| status == LOUPE_OK)
    }
    pub(crate) fn series_count(&self) -> usize {
        unsafe { (*self.wiring).series_count.unwrap()((*self.wiring).context, self.source) }
    }
    /// Empty where it cannot be read.
    pub(crate) fn series_name(&self, series: usize) -> String {
        let (mut length, mut name) = (0, vec![0u8; 64]);
        loop {
            let status = unsafe {
                let (wiring, text) = (&*self.wiring, name.as_mut_ptr() as *mut c_char);
                let read = wiring.series_name.unwrap();
                read(wiring.context, self.source, series, text, name.len(), &mut length, null_mut())
            };
            if status != LOUPE_OK {
                return String::new();
            }
            if length < name.len() {
                name.truncate(length);
                return String::from_utf8_lossy(&name).into_owned();
            }
            name.resize(length + 1, 0);
        }
    }
}

/// Where LayerLens::visit says what it looks at.
pub struct Each<'a> {
    module: Module<'a>,
    wiring: &'a loupe_wiring,
    filter: &'a Filter,
    keeps_values: bool,
    made: Vec<(Layer, Box<Stream>)>,
    failure: Option<Failure>,
    is_taken: Option<bool>,
}

impl Each<'_> {
    /// Whether the options let the lens look at the module.
    pub fn takes(&mut self, by_default: bool) -> bool {
        let (module, filter) = (self.module, self.filter);
        *self.is_taken.get_or_insert_with(|| !module.is_loss() && filter.takes(&module, by_default))
    }
    /// Shows the number that `function` makes of each event of `gatherer`, such as "forward", on this module. With
    /// `measures`, LOUPE_MEASURE_ bits, the host measures; without, the event has its tensor. Where takes() was not
    /// asked, it looks at modules without children.
    pub fn each(&mut self, gatherer: &str, measures: u32, function: impl FnMut(&Event) -> Option<f64> + Send + 'static) {
        self.watch(gatherer, "", measures, Function::One(Box::new(function)))
    }
    /// The same with several numbers of each event, which are lines of one plot, named as they were pushed.
    pub fn each_numbers(
        &mut self,
        gatherer: &str,
        measures: u32,
        function: impl FnMut(&Event, &mut Numbers) + Send + 'static,
    ) {
        self.watch(gatherer, "", measures, Function::Several(Box::new(function)))
    }
    /// The same of a parameter, for a gatherer that needs one. Where takes() was not asked, it looks at modules that
    /// have it.
    pub fn each_of(
        &mut self,
        gatherer: &str,
        parameter: &str,
        measures: u32,
        function: impl FnMut(&Event) -> Option<f64> + Send + 'static,
    ) {
        self.watch(gatherer, parameter, measures, Function::One(Box::new(function)))
    }
    fn watch(&mut self, gatherer: &str, parameter: &str, measures: u32, function: Function) {
        let by_default =
            if parameter.is_empty() { self.module.is_leaf() } else { self.module.has_parameter(parameter) };
        if self.failure.is_some() || !self.takes(by_default) {
            return;
        }
        let passes = if parameter.is_empty() { LOUPE_PASS_TRAINING } else { LOUPE_PASS_BOTH };
        let mut stream = Box::new(Stream::new(measures, passes, function, self.keeps_values));
        let (gatherer, label) = (CString::new(gatherer).unwrap(), CString::new(parameter).unwrap());
        let label = if parameter.is_empty() { null() } else { label.as_ptr() };
        match unsafe { stream::watch(self.wiring, self.module.0, gatherer.as_ptr(), label, &mut stream) } {
            Ok(source) => {
                let name = self.module.name();
                let name = if parameter.is_empty() || parameter == "weight" { name } else { name + "." + parameter };
                let layer = Layer { name, module: self.module.0, source, wiring: self.wiring };
                self.made.push((layer, stream));
            }
            Err(failure) => self.failure = Some(failure),
        }
    }
}

/// A lens with what the host gave it.
pub(crate) struct Running<T> {
    lens: T,
    host: *const loupe_host,
    wiring: *const loupe_wiring,
    filter: Filter,
    lines: Lines,
    layers: Vec<Layer>,
    streams: Vec<(*const loupe_module, Box<Stream>)>,
    forgotten: Vec<*const loupe_module>,
    is_blindness_told: bool,
    has_non_finite: bool,
}

/// What the lens's plot is called: "Dead Units" for "dead_units".
fn tag_of<T: LayerLens>() -> String {
    if !T::TAG.is_empty() {
        return T::TAG.to_string();
    }
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    T::NAME.split('_').filter(|each| !each.is_empty()).map(word).collect::<Vec<_>>().join(" ")
}

impl<T: LayerLens> Running<T> {
    unsafe fn visit(&mut self, module: *const loupe_module) -> Result<(), Failure> {
        let module = Module::from(module)?;
        self.drop_forgotten();
        let mut each = Each {
            module,
            wiring: &*self.wiring,
            filter: &self.filter,
            keeps_values: self.lines.need_quantiles(),
            made: Vec::new(),
            failure: None,
            is_taken: None,
        };
        self.lens.visit(&module, &mut each);
        let failure = each.failure;
        for (layer, stream) in each.made {
            self.streams.push((layer.module, stream));
            self.layers.push(layer);
        }
        failure.map_or(Ok(()), Err)
    }
    /// The sources of a forgotten module end with that call: what they call may go at the next.
    fn drop_forgotten(&mut self) {
        let forgotten = std::mem::take(&mut self.forgotten);
        self.streams.retain(|(module, _)| !forgotten.contains(module));
    }
    fn introduce(&self, report: &Report) -> Result<(), Failure> {
        report.tag(&tag_of::<T>(), T::HELP, T::TAG_TYPE, false)?;
        if self.has_non_finite {
            let words = "How many events held NaN or infinity: they are in no average.";
            report.tag(NON_FINITE, words, LOUPE_TAG_NUMERICAL, false)?;
        }
        Ok(())
    }
    unsafe fn report(&mut self, report: &Report) -> Result<(), Failure> {
        self.drop_forgotten();
        if self.layers.is_empty() && !std::mem::replace(&mut self.is_blindness_told, true) {
            let words = b"it looks at nothing, so it shows nothing: no module fits its options include and exclude\0";
            if let Some(log) = (*self.host).log {
                log((*self.host).context, LOUPE_LOG_WARNING, words.as_ptr() as *const c_char);
            }
        }
        let counts = |layer: &Layer, series, kind| layer.get_at(series, kind).unwrap_or(0.0);
        self.has_non_finite |= self.layers.iter().any(|layer| {
            let of = |i| counts(layer, i, LOUPE_AGGREGATE_NAN_COUNT) + counts(layer, i, LOUPE_AGGREGATE_INF_COUNT);
            (0..layer.series_count()).any(|i| of(i) > 0.0)
        });
        self.introduce(report)?;
        let tag = tag_of::<T>();
        for layer in &self.layers {
            for i in 0..layer.series_count() {
                let series = layer.series_name(i);
                let is_one = series == "value";
                let prefix = if is_one { String::new() } else { series.clone() + " " };
                self.lines.write(report, &tag, layer, i, &prefix)?;
                let of = if is_one { tag.clone() } else { format!("{}, {}", tag, series) };
                for (kind, words) in [(LOUPE_AGGREGATE_NAN_COUNT, " NaN"), (LOUPE_AGGREGATE_INF_COUNT, " Inf")] {
                    let count = counts(layer, i, kind);
                    if count > 0.0 {
                        report.value(NON_FINITE, Some(&layer.name), &(of.clone() + words), count, 0)?;
                    }
                }
            }
        }
        self.lens.report(&self.layers, report)
    }
}

const NON_FINITE: &str = "Non-Finite Values";

unsafe fn running<'a, T>(this: *mut c_void) -> &'a mut Running<T> {
    &mut *(this as *mut Running<T>)
}
unsafe fn attached<'a, T>(this: *mut c_void) -> Result<&'a mut Running<T>, Failure> {
    let running = running::<T>(this);
    if running.wiring.is_null() {
        return Err(Failure { status: LOUPE_INVALID, message: "the lens is called before attach".to_string() });
    }
    Ok(running)
}

pub(crate) unsafe extern "C" fn create<T: LayerLens>(
    _: *const loupe_component,
    host: *const loupe_host,
    options: *const loupe_options,
    this: *mut *mut c_void,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        need(reaches!(host, get_interface), "the host")?;
        let options = Options::from(options)?;
        let filter = Filter { include: options.texts("include")?, exclude: options.texts("exclude")? };
        let made = Running {
            lens: T::new(&options)?,
            host,
            wiring: null(),
            filter,
            lines: Lines::new(&options.texts("line")?, &options.texts("range")?),
            layers: Vec::new(),
            streams: Vec::new(),
            forgotten: Vec::new(),
            is_blindness_told: false,
            has_non_finite: false,
        };
        *this = Box::into_raw(Box::new(made)) as *mut c_void;
        Ok(())
    })
}
pub(crate) unsafe extern "C" fn destroy<T: LayerLens>(this: *mut c_void) {
    guarded(null_mut(), || {
        drop(Box::from_raw(this as *mut Running<T>));
        Ok(())
    });
}
unsafe extern "C" fn attach<T: LayerLens>(
    this: *mut c_void,
    wiring: *const loupe_wiring,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        need(reaches!(wiring, get_extension), "the wiring")?;
        running::<T>(this).wiring = wiring;
        Ok(())
    })
}
unsafe extern "C" fn visit<T: LayerLens>(
    this: *mut c_void,
    module: *const loupe_module,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || attached::<T>(this)?.visit(module))
}
unsafe extern "C" fn forget<T: LayerLens>(this: *mut c_void, module: *const loupe_module) {
    guarded(null_mut(), || {
        let running = attached::<T>(this)?;
        running.layers.retain(|layer| layer.module != module);
        running.forgotten.push(module);
        Ok(())
    });
}
unsafe extern "C" fn introduce<T: LayerLens>(
    this: *mut c_void,
    sink: *const loupe_sink,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || attached::<T>(this)?.introduce(&Report::from(sink, error)?))
}
unsafe extern "C" fn report<T: LayerLens>(
    this: *mut c_void,
    tick: *const loupe_tick,
    sink: *const loupe_sink,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        need(reaches!(tick, optimizer_count), "the tick")?;
        attached::<T>(this)?.report(&Report::from(sink, error)?)
    })
}
unsafe extern "C" fn query<T: LayerLens>(
    this: *mut c_void,
    key: *const c_char,
    value: *mut f64,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        let key = text_of(key);
        let message = format!("the lens has no number '{}'", key);
        let missing = Failure { status: LOUPE_NOT_FOUND, message };
        *value = attached::<T>(this)?.lens.query(&key).ok_or(missing)?;
        checked(LOUPE_OK)
    })
}

/// The table of functions of a lens, made once for a plugin.
pub(crate) fn table<T: LayerLens>() -> *const c_void {
    let table = loupe_lens {
        struct_size: std::mem::size_of::<loupe_lens>() as u32,
        reserved: 0,
        get_extension: None,
        attach: Some(attach::<T>),
        visit: Some(visit::<T>),
        forget: Some(forget::<T>),
        step: None,
        introduce: Some(introduce::<T>),
        report: Some(report::<T>),
        query: Some(query::<T>),
    };
    Box::leak(Box::new(table)) as *const loupe_lens as *const c_void
}
