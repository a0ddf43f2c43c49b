//! A lens, and the streams that it watches.

use crate::abi::*;
use crate::boundary::{asked, c_text, copied, fill, guarded, or_null, there, Failure, Result};
use crate::plugin::{DeclaredOption, Options};
use crate::report::Report;
use crate::series::Series;
use crate::view::{Event, Module, Tensor};
use std::cell::{RefCell, UnsafeCell};
use std::os::raw::c_void;
use std::ptr::{null, null_mut};
use std::rc::Rc;

/// Decides what to watch, and turns an epoch into numbers. Its calls never overlap.
pub trait Lens: Sized + Send + 'static {
    /// A description in one line.
    const HELP: &'static str;
    /// Whether `step` is called.
    const STEPS: bool = false;

    fn options() -> Vec<DeclaredOption> {
        Vec::new()
    }
    fn new(options: &Options) -> Result<Self>;
    /// Called once, before the first module; watch pushed values here.
    fn attach(&mut self, _wiring: &mut Wiring) -> Result {
        Ok(())
    }
    /// Called for every module, parents before children; for functions such as torch::relu when they first run.
    fn visit(&mut self, module: &Module, wiring: &mut Wiring) -> Result;
    /// The module is detached: its sources give no more numbers.
    fn forget(&mut self, _module: &Module) {}
    /// Called after each step of an optimizer, measured or not (LOUPE_STEP_MEASURED). Must be quick, because training waits.
    /// `report` accepts only findings.
    fn step(&mut self, _step: &loupe_step, _report: &Report) -> Result {
        Ok(())
    }
    /// The epoch, or a number of steps, has ended. The sources start again afterwards.
    fn report(&mut self, tick: &loupe_tick, report: &Report) -> Result;
}

/// A watched stream; see Report::read.
pub struct Source(pub(crate) *mut loupe_source);
// Sending is safe, because the pointer is only compared, and passed to the host in Report::read.
unsafe impl Send for Source {}

pub(crate) struct Watched {
    module: *const loupe_module,
    pub(crate) source: *mut loupe_source,
    /// None if the preprocessor belongs to another component. Must live longer than the source.
    _stream: Option<Rc<UnsafeCell<Stream>>>,
}

/// A preprocessor made from a function: it folds the numbers that the function returns for the events.
struct Stream {
    measures: u32,
    passes: u32,
    function: Box<dyn FnMut(&Event) -> Option<f64> + Send>,
    series: Series,
}

impl Stream {
    fn process(&mut self, event: &Event) {
        let value = match event.measurement().filter(|found| found.measures & self.measures == self.measures) {
            _ if self.measures == 0 => event.tensor().filter(Tensor::is_readable).and_then(|_| (self.function)(event)),
            // Ignoring NaN would give a value that looks valid but is not.
            Some(found) if found.nan_count > 0 => Some(f64::NAN),
            Some(found) if found.inf_count > 0 => Some(f64::INFINITY),
            Some(found) if found.numel > 0 => (self.function)(event),
            _ => None,
        };
        if let Some(value) = value {
            self.series.push(value);
        }
    }
}

unsafe fn stream<'a>(this: *mut c_void) -> &'a mut Stream {
    &mut *(this as *mut Stream)
}

unsafe extern "C" fn request(this: *mut c_void, request: *mut loupe_request, error: *mut loupe_error) -> loupe_status {
    guarded(error, || {
        let (mut asked, stream) = (there(copied(request))?, stream(this));
        asked.measures = stream.measures;
        asked.passes = stream.passes;
        asked.flags |= if stream.measures == 0 { LOUPE_REQUEST_TENSORS } else { 0 };
        Ok(fill(request, &asked))
    })
}
unsafe extern "C" fn process(this: *mut c_void, event: *const loupe_event, error: *mut loupe_error) -> loupe_status {
    guarded(error, || Ok(stream(this).process(&Event { abi: there(copied(event))? })))
}
unsafe extern "C" fn series_count(_: *mut c_void) -> usize {
    1
}
unsafe extern "C" fn read(
    this: *mut c_void,
    i: usize,
    row: *mut loupe_series,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        if i == 0 {
            return Ok(fill(row, &stream(this).series.numbers));
        }
        Err(Failure { status: LOUPE_NOT_FOUND, message: format!("there is no series {}", i) })
    })
}
unsafe extern "C" fn reset(this: *mut c_void, _: *mut loupe_error) -> loupe_status {
    stream(this).series.reset();
    LOUPE_OK
}

static TABLE: loupe_preprocessor = loupe_preprocessor {
    request: Some(request),
    process: Some(process),
    series_count: Some(series_count),
    read: Some(read),
    reset: Some(reset),
    ..loupe_preprocessor::EMPTY
};

/// The functions with which a lens watches streams. Valid for the call.
pub struct Wiring<'a> {
    table: &'a loupe_wiring,
    sources: &'a mut Vec<Watched>,
}

/// The name of a gatherer, for example "forward", and of a parameter if the gatherer needs one.
pub type Gathered<'a> = (&'a str, Option<&'a str>);

impl Wiring<'_> {
    /// Watches the numbers that `function` returns for the events, as the series "value". With `measures`, LOUPE_MEASURE_
    /// bits, the host measures each event; otherwise the event has its tensor.
    pub fn each<F>(&mut self, module: &Module, gatherer: Gathered, measures: u32, function: F) -> Result<Source>
    where
        F: FnMut(&Event) -> Option<f64> + Send + 'static,
    {
        let passes = if gatherer.1.is_none() { LOUPE_PASS_TRAINING } else { LOUPE_PASS_BOTH };
        let stream = Stream { measures, passes, function: Box::new(function), series: Series::new("value") };
        self.add(module.place, gatherer, None, Some(Rc::new(UnsafeCell::new(stream))))
    }
    /// Watches the series of another preprocessor by its name; without a module, of pushed values.
    pub fn watch(&mut self, module: Option<&Module>, gatherer: Gathered, preprocessor: &str) -> Result<Source> {
        self.add(module.map_or(null(), |module| module.place), gatherer, Some(preprocessor), None)
    }
    fn add(
        &mut self,
        module: *const loupe_module,
        (gatherer, label): Gathered,
        preprocessor: Option<&str>,
        stream: Option<Rc<UnsafeCell<Stream>>>,
    ) -> Result<Source> {
        let (gatherer, label, preprocessor) = (c_text(gatherer), label.map(c_text), preprocessor.map(c_text));
        let watch = loupe_watch {
            module,
            gatherer: gatherer.as_ptr(),
            label: or_null(&label),
            preprocessor: or_null(&preprocessor),
            own_interface: stream.as_ref().map_or(null(), |_| &TABLE),
            own_preprocessor: stream.as_ref().map_or(null_mut(), |stream| stream.get() as *mut c_void),
            ..loupe_watch::EMPTY
        };
        let call = there(self.table.watch)?;
        let mut source = null_mut();
        asked(|error| unsafe { call(self.table.context, &watch, &mut source, error) })?;
        self.sources.push(Watched { module, source, _stream: stream });
        Ok(Source(source))
    }
}

/// A lens, and what the host gave it.
struct Running<T> {
    lens: T,
    table: loupe_wiring,
    sources: Vec<Watched>,
    /// The streams of a forgotten module: their sources end with that call, so they are dropped at the next call.
    ended: Vec<Watched>,
}

/// Defines a function of the table by an expression on the lens.
macro_rules! call {
    ($name:ident($($argument:ident: $kind:ty),+), |$running:ident| $work:expr) => {
        unsafe extern "C" fn $name<T: Lens>(
            this: *mut c_void,
            $($argument: *const $kind,)+
            error: *mut loupe_error,
        ) -> loupe_status {
            guarded(error, || {
                let running = (*(this as *const RefCell<Running<T>>)).try_borrow_mut();
                let $running = &mut *running.map_err(|_| "the lens is called while it runs a model itself")?;
                $running.ended.clear();
                $work
            })
        }
    };
}
call!(attach(wiring: loupe_wiring), |running| {
    running.table = there(copied(wiring))?;
    running.lens.attach(&mut Wiring { table: &running.table, sources: &mut running.sources })
});
call!(visit(module: loupe_module), |running| {
    let mut wiring = Wiring { table: &running.table, sources: &mut running.sources };
    running.lens.visit(&Module::from(module)?, &mut wiring)
});
call!(step(step: loupe_step, sink: loupe_sink), |running| {
    let report = Report { sink: there(copied(sink))?, wiring: &running.table, sources: &running.sources };
    running.lens.step(&there(copied(step))?, &report)
});
call!(report(tick: loupe_tick, sink: loupe_sink), |running| {
    let report = Report { sink: there(copied(sink))?, wiring: &running.table, sources: &running.sources };
    running.lens.report(&there(copied(tick))?, &report)
});
call!(end(module: loupe_module), |running| {
    let all = std::mem::take(&mut running.sources);
    (running.ended, running.sources) = all.into_iter().partition(|each| each.module == module);
    running.lens.forget(&Module::from(module)?);
    Ok(())
});
unsafe extern "C" fn forget<T: Lens>(this: *mut c_void, module: *const loupe_module) {
    end::<T>(this, module, null_mut());
}

unsafe fn create<T: Lens>(options: &Options) -> Result<*mut c_void> {
    let lens = T::new(options)?;
    let running = Running { lens, table: loupe_wiring::EMPTY, sources: Vec::new(), ended: Vec::new() };
    Ok(Box::into_raw(Box::new(RefCell::new(running))) as *mut c_void)
}
unsafe fn destroy<T: Lens>(this: *mut c_void) {
    drop(Box::from_raw(this as *mut RefCell<Running<T>>));
}

kind!(Lens, LOUPE_LENS_ID, loupe_lens {
    attach: Some(attach::<T>),
    visit: Some(visit::<T>),
    forget: Some(forget::<T>),
    step: if T::STEPS { Some(step::<T>) } else { None },
    report: Some(report::<T>),
});
