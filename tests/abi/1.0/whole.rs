//! A component of each kind in Rust, which together use all that ABI 1.0 has: the preprocessor and the visualizer by the Rust
//! layer, which saves and merges the states; the gatherer and the lens by `abi` itself, for what the layer has no word for.

use loupe::{abi::*, copied, guarded, plugin, Event, Options, Preprocessor, Result, Series, Told, Visualizer};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

const UNKNOWN_ID: *const c_char = b"loupe.nothing/1\0".as_ptr() as *const c_char;

fn c(text: &[u8]) -> *const c_char {
    assert!(text.ends_with(&[0]));
    text.as_ptr() as *const c_char
}
fn known(status: loupe_status) -> Result {
    if status == LOUPE_OK { Ok(()) } else { Err(format!("the host answers {}", status).into()) }
}
unsafe fn option_of(options: *const loupe_options, name: &str) -> loupe_option_value {
    let given = copied(options).unwrap_or(loupe_options::EMPTY);
    let values = (0..given.value_count).filter_map(|i| copied(*given.values.add(i)));
    let mut found = values.filter(|value| !value.name.is_null() && CStr::from_ptr(value.name).to_bytes() == name.as_bytes());
    found.next().unwrap_or(loupe_option_value::EMPTY)
}
unsafe extern "C" fn destroy<T>(this: *mut c_void) {
    drop(Box::from_raw(this as *mut T));
}
/// What lives as long as the process.
fn forever<T>(value: T) -> *const T {
    Box::leak(Box::new(value))
}

/// Hands on what one tap tells.
struct Tap {
    tap: u32,
    taps: *const loupe_taps,
}

unsafe extern "C" fn create_tap(
    _: *const loupe_component,
    _: *const loupe_host,
    options: *const loupe_options,
    this: *mut *mut c_void,
    _: *mut loupe_error,
) -> loupe_status {
    let tap = option_of(options, "tap").integer as u32;
    *this = Box::into_raw(Box::new(Tap { tap, taps: null() })) as *mut c_void;
    LOUPE_OK
}
unsafe extern "C" fn open_tap(
    this: *mut c_void,
    taps: *const loupe_taps,
    _: *const loupe_module,
    label: *const c_char,
    error: *mut loupe_error,
) -> loupe_status {
    let me = &mut *(this as *mut Tap);
    me.taps = taps;
    if copied(taps).and_then(|taps| taps.get_extension).is_none() {
        return LOUPE_INVALID;
    }
    if !(*taps).get_extension.unwrap()((*taps).context, UNKNOWN_ID).is_null() {
        return LOUPE_FAILED;
    }
    let wanted = loupe_subscription { tap: me.tap, label, ..loupe_subscription::EMPTY };
    (*taps).subscribe.unwrap()((*taps).context, &wanted, error)
}
unsafe extern "C" fn take_event(
    this: *mut c_void,
    event: *const loupe_event,
    error: *mut loupe_error,
) -> loupe_status {
    let taps = &*(*(this as *mut Tap)).taps;
    taps.emit.unwrap()(taps.context, event, error)
}

/// Asks for all that is measured.
struct Measures;

impl Preprocessor for Measures {
    const HELP: &'static str = "all measures";
    const SERIES: &'static [&'static str] = &[
        "sum", "squares", "least", "most", "active", "dead", "norms", "dot", "change", "dot_change", "binned", "first",
    ];

    fn new(_: &Options) -> Result<Self> {
        Ok(Measures)
    }
    fn request(&self) -> loupe_request {
        loupe_request {
            flags: LOUPE_REQUEST_TENSORS | LOUPE_REQUEST_UNITS,
            measures: LOUPE_MEASURE_SUMS
                | LOUPE_MEASURE_EXTREMES
                | LOUPE_MEASURE_ACTIVITY
                | LOUPE_MEASURE_SAMPLES
                | LOUPE_MEASURE_PREVIOUS
                | LOUPE_MEASURE_CHANGE
                | LOUPE_MEASURE_CHANGE_PREVIOUS
                | LOUPE_MEASURE_HISTOGRAM,
            passes: LOUPE_PASS_BOTH,
            places: LOUPE_PLACE_BOTH,
            unit_dimension: 1,
            eps: 0.5,
            ..loupe_request::EMPTY
        }
    }
    fn process(&mut self, event: &Event, series: &mut [Series]) -> Result {
        if event.abi.tap == LOUPE_TAP_PUSH {
            series[0].push(event.abi.scalar);
        }
        let found = event.measurement().unwrap_or(loupe_measurement::EMPTY);
        let fold = |series_of_bit: &mut [Series], bit: bool, numbers: &[f64]| {
            if bit {
                series_of_bit.iter_mut().zip(numbers).for_each(|(series, number)| series.push(*number));
            }
        };
        let has = |measure: u32| found.measures & measure != 0;
        let counts = [found.active_count as f64, found.dead_unit_count as f64];
        fold(&mut series[0..2], has(LOUPE_MEASURE_SUMS), &[found.sum, found.sum_squares]);
        fold(&mut series[2..4], has(LOUPE_MEASURE_EXTREMES), &[found.minimum, found.maximum]);
        fold(&mut series[4..6], has(LOUPE_MEASURE_ACTIVITY), &counts);
        fold(&mut series[6..7], has(LOUPE_MEASURE_SAMPLES), &[found.sample_norm_sum]);
        let [before, change] = [LOUPE_MEASUREMENT_HAS_PREVIOUS, LOUPE_MEASUREMENT_HAS_CHANGE];
        fold(&mut series[7..8], found.flags & before != 0, &[found.dot_previous]);
        fold(&mut series[8..10], found.flags & change != 0, &[found.change_sum_squares, found.dot_change]);
        let binned: u64 = (0..found.bin_count).map(|i| unsafe { *found.bins.add(i) }).sum();
        fold(&mut series[10..11], has(LOUPE_MEASURE_HISTOGRAM), &[binned as f64]);
        if let Some(tensor) = event.tensor().filter(|tensor| tensor.is_readable()) {
            let first = [0; 8];
            series[11].push(tensor.at(&first[..tensor.sizes().len().min(8)]));
        }
        Ok(())
    }
}

/// Watches the module `watched` and what is pushed, in every way that there is.
struct Whole {
    host: *const loupe_host,
    wiring: *const loupe_wiring,
    module: *const loupe_module,
    watched: Vec<(String, *mut loupe_source)>,
    pushed: Vec<(String, *mut loupe_source)>,
    rested: *mut loupe_source,
    options: [f64; 6],
    steps: u64,
    measured_steps: u64,
    ticks: u64,
}

/// A stream: what it is shown as, the gatherer, the label, the preprocessor, and one of the options that it is given.
type Stream<'a> = (&'a str, &'a [u8], Option<&'a [u8]>, &'a [u8], Option<(&'a [u8], bool)>);

const MEASURES: &[u8] = b"rust_measures\0";
const WEIGHT: Option<&[u8]> = Some(b"weight\0");
const STATE: Option<&[u8]> = Some(b"state\0");

impl Whole {
    /// `number`: the tap of rust_tap, or the output.
    unsafe fn watch(&self, stream: Stream, number: u32) -> Result<*mut loupe_source> {
        let (_, gatherer, label, preprocessor, option) = stream;
        let is_tap = gatherer == b"rust_tap\0";
        let number_value = loupe_option_value {
            r#type: LOUPE_TYPE_INTEGER,
            name: c(if is_tap { b"tap\0" } else { LOUPE_GATHER_OPTION_OUTPUT }),
            integer: number as i64,
            number: number as f64,
            ..loupe_option_value::EMPTY
        };
        let set = loupe_option_value {
            r#type: LOUPE_TYPE_BOOLEAN,
            name: option.map_or(null(), |option| c(option.0)),
            integer: option.map_or(0, |option| option.1 as i64),
            ..loupe_option_value::EMPTY
        };
        let (numbers, sets): ([*const _; 1], [*const _; 1]) = ([&number_value], [&set]);
        let of_gatherer = loupe_options { values: numbers.as_ptr(), value_count: 1, ..loupe_options::EMPTY };
        let of_preprocessor = loupe_options { values: sets.as_ptr(), value_count: 1, ..loupe_options::EMPTY };
        let watch = loupe_watch {
            module: self.module,
            gatherer: c(gatherer),
            gatherer_options: if number != 0 { &of_gatherer } else { null() },
            label: label.map_or(null(), c),
            preprocessor: c(preprocessor),
            preprocessor_options: option.map_or(null(), |_| &of_preprocessor),
            ..loupe_watch::EMPTY
        };
        let wiring = &*self.wiring;
        let mut source = null_mut();
        known(wiring.watch.unwrap()(wiring.context, &watch, &mut source, null_mut()))?;
        Ok(source)
    }
    unsafe fn tap(&self, tap: u32, label: Option<&[u8]>) -> Result<(String, *mut loupe_source)> {
        let source = self.watch(("", b"rust_tap\0", label, MEASURES, None), tap)?;
        Ok((format!("tap {}", tap), source))
    }
    unsafe fn attach(&mut self) -> Result {
        let wiring = &*self.wiring;
        if !wiring.get_extension.unwrap()(wiring.context, UNKNOWN_ID).is_null() {
            return Err("the wiring offers what nobody knows".into());
        }
        self.pushed.push(self.tap(LOUPE_TAP_PUSH, None)?);
        let streams: [Stream; 2] = [
            ("push", LOUPE_GATHER_PUSH, None, MEASURES, None),
            ("explicit_call", LOUPE_GATHER_PUSH, None, LOUPE_PREPROCESS_EXPLICIT_CALL, None),
        ];
        for stream in streams {
            self.pushed.push((stream.0.to_string(), self.watch(stream, 0)?));
        }
        Ok(())
    }
    unsafe fn visit(&mut self, module: *const loupe_module) -> Result {
        let seen = copied(module).filter(|seen| !seen.name.is_null());
        if seen.map_or(true, |seen| CStr::from_ptr(seen.name).to_bytes() != b"watched") {
            return Ok(());
        }
        if self.wiring.is_null() {
            return Err("the lens is not attached".into());
        }
        self.module = module;
        for (taps, label) in [
            (&[LOUPE_TAP_FORWARD_BEFORE, LOUPE_TAP_FORWARD, LOUPE_TAP_OUTPUT_GRADIENT, LOUPE_TAP_INPUT_GRADIENT][..], None),
            (
                &[
                    LOUPE_TAP_PARAMETER_GRADIENT,
                    LOUPE_TAP_STEP_GRADIENT,
                    LOUPE_TAP_OPTIMIZER_STEP,
                    LOUPE_TAP_TICK,
                ],
                WEIGHT,
            ),
            (&[LOUPE_TAP_ATTRIBUTE_BEFORE, LOUPE_TAP_ATTRIBUTE], STATE),
        ] {
            for tap in taps {
                self.watched.push(self.tap(*tap, label)?);
            }
        }
        let folded = Some((LOUPE_PREPROCESS_OPTION_INPLACE, false));
        let sketched = Some((LOUPE_PREPROCESS_OPTION_QUANTILES, true));
        let streams: [Stream; 18] = [
            ("forward_input", LOUPE_GATHER_FORWARD_INPUT, None, MEASURES, None),
            ("forward", LOUPE_GATHER_FORWARD, None, MEASURES, None),
            ("output_gradient", LOUPE_GATHER_OUTPUT_GRADIENT, None, MEASURES, None),
            ("input_gradient", LOUPE_GATHER_INPUT_GRADIENT, None, MEASURES, None),
            ("parameter_gradient", LOUPE_GATHER_PARAMETER_GRADIENT, WEIGHT, MEASURES, None),
            ("step_gradient", LOUPE_GATHER_STEP_GRADIENT, WEIGHT, MEASURES, None),
            ("call_parameter", LOUPE_GATHER_CALL_PARAMETER, WEIGHT, MEASURES, None),
            ("optimizer_step", LOUPE_GATHER_OPTIMIZER_STEP, WEIGHT, MEASURES, None),
            ("tick", LOUPE_GATHER_TICK, WEIGHT, MEASURES, None),
            ("attribute", LOUPE_GATHER_ATTRIBUTE, STATE, MEASURES, None),
            ("output_norm", LOUPE_GATHER_FORWARD, None, LOUPE_PREPROCESS_OUTPUT_NORM, folded),
            ("parameter_norm", LOUPE_GATHER_TICK, WEIGHT, LOUPE_PREPROCESS_PARAMETER_NORM, None),
            ("output_activation", LOUPE_GATHER_FORWARD, None, LOUPE_PREPROCESS_OUTPUT_ACTIVATION, sketched),
            ("gradient_activation", LOUPE_GATHER_OUTPUT_GRADIENT, None, LOUPE_PREPROCESS_GRADIENT_ACTIVATION, None),
            ("gradient_geometry", LOUPE_GATHER_STEP_GRADIENT, WEIGHT, LOUPE_PREPROCESS_GRADIENT_GEOMETRY, None),
            (
                "output_gradient_geometry",
                LOUPE_GATHER_OUTPUT_GRADIENT,
                None,
                LOUPE_PREPROCESS_OUTPUT_GRADIENT_GEOMETRY,
                None,
            ),
            (
                "parameter_difference_geometry",
                LOUPE_GATHER_OPTIMIZER_STEP,
                WEIGHT,
                LOUPE_PREPROCESS_PARAMETER_DIFFERENCE_GEOMETRY,
                None,
            ),
            ("parameter_condition", LOUPE_GATHER_TICK, WEIGHT, LOUPE_PREPROCESS_PARAMETER_CONDITION, None),
        ];
        for stream in streams {
            self.watched.push((stream.0.to_string(), self.watch(stream, 0)?));
        }
        let loss = ("loss_module", LOUPE_GATHER_FORWARD, None, LOUPE_PREPROCESS_LOSS_MODULE, None);
        self.watched.push(("loss_module".to_string(), self.watch(loss, 1)?)); // of the second output
        self.rested = self.watch(("rested", LOUPE_GATHER_FORWARD, None, MEASURES, None), 0)?;
        self.watched.push(("rested".to_string(), self.rested));
        Ok(())
    }
    unsafe fn tell(&self, sink: &loupe_sink, layer: &str, events: u64, numbers: &[(&str, f64)]) -> Result {
        let names: Vec<_> = numbers.iter().map(|(name, _)| CString::new(*name).unwrap()).collect();
        let value_names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let values: Vec<_> = numbers.iter().map(|(_, value)| *value).collect();
        let layer = CString::new(layer).unwrap();
        let row = loupe_row {
            tag: c(b"Rust Whole\0"),
            layer: layer.as_ptr(),
            events,
            value_count: values.len(),
            value_names: value_names.as_ptr(),
            values: values.as_ptr(),
            ..loupe_row::EMPTY
        };
        known(sink.row.unwrap()(sink.context, &row, null_mut()))
    }
    /// All series of a source, also by the functions for values and quantiles, where the source has them.
    unsafe fn tell_source(&self, sink: &loupe_sink, shown: &str, source: *mut loupe_source) -> Result {
        let (wiring, context) = (&*self.wiring, (*self.wiring).context);
        let (mut numbers, mut events) = (Vec::new(), 0);
        for i in 0..wiring.series_count.unwrap()(context, source) {
            let (mut read, mut place) = (loupe_series::EMPTY, usize::MAX);
            known(wiring.read.unwrap()(context, source, i, &mut read, null_mut()))?;
            known(wiring.find.unwrap()(context, source, read.name, &mut place, null_mut()))?;
            if place != i {
                return Err("a series has two places".into());
            }
            if read.count > 0 {
                events = read.count;
                numbers.push((CStr::from_ptr(read.name).to_str().unwrap(), read.mean));
            }
        }
        if numbers.is_empty() {
            return Ok(());
        }
        let (mut kept, mut kept_count) = ([0.0; 16], 0);
        if wiring.values.unwrap()(context, source, 0, kept.as_mut_ptr(), 16, &mut kept_count, null_mut()) == LOUPE_OK {
            numbers.push(("kept values", kept_count as f64));
        }
        let (q, mut ends) = ([0.0, 1.0], [0.0; 2]);
        if wiring.quantiles.unwrap()(context, source, 0, q.as_ptr(), 2, ends.as_mut_ptr(), null_mut()) == LOUPE_OK {
            numbers.extend([("least", ends[0]), ("greatest", ends[1])]);
        }
        self.tell(sink, shown, events, &numbers)
    }
    unsafe fn tell_services(&self, sink: &loupe_sink) -> Result {
        let (host, context) = (&*self.host, (*self.host).context);
        let service = |id: &[u8]| host.get_extension.unwrap()(context, c(id));
        let runs = service(LOUPE_RUN_ID) as *const loupe_run_service;
        let parameters = service(LOUPE_PARAMETERS_ID) as *const loupe_parameter_service;
        let unknown = host.get_extension.unwrap()(context, UNKNOWN_ID);
        if !unknown.is_null() {
            return Err("the host offers what nobody knows".into());
        }
        let run = if runs.is_null() { null() } else { (*runs).run.unwrap()(context) };
        let run = copied(run).unwrap_or(loupe_run::EMPTY);
        let (mut flags, mut value, mut gradient) = (0, Lent::of(self.host), Lent::of(self.host));
        if !self.module.is_null() && !parameters.is_null() {
            let lend = (*parameters).lend.unwrap();
            let name = c(b"weight\0");
            let (to_value, to_gradient) = (&mut value as *mut Lent, &mut gradient as *mut Lent);
            known((*parameters).flags.unwrap()(context, self.module, 0, &mut flags, null_mut()))?;
            known(lend(context, self.module, name, 0, Some(take_lent), to_value as *mut c_void, null_mut()))?;
            let flag = LOUPE_LEND_GRADIENT;
            known(lend(context, self.module, name, flag, Some(take_lent), to_gradient as *mut c_void, null_mut()))?;
        }
        let numbers = [
            ("processes", run.world_size as f64),
            ("has lenses", (run.lens_count > 0) as u64 as f64),
            ("flags", (flags & !LOUPE_PARAMETER_DRAFTS) as f64),
            ("sum", value.sums[0]),
            ("retained", value.sums[1]),
            ("cloned", value.sums[2]),
            ("sum of gradient", gradient.sums[0]),
        ];
        self.tell(sink, "services", 0, &numbers)
    }
    unsafe fn report(&mut self, tick: *const loupe_tick, sink: &loupe_sink) -> Result {
        let id = c(b"Rust Whole\0");
        let told = copied(tick).ok_or("there is no tick")?;
        copied(sink).and_then(|sink| sink.get_extension).ok_or("the host lacks what ABI 1.0 has")?;
        if self.wiring.is_null() {
            return Err("the lens is not attached".into());
        }
        if !sink.get_extension.unwrap()(sink.context, UNKNOWN_ID).is_null() {
            return Err("the sink offers what nobody knows".into());
        }
        let tag = loupe_tag {
            r#type: LOUPE_SCALE_NUMERICAL,
            flags: LOUPE_TAG_ANNOTATE | LOUPE_TAG_HAS_MINIMUM,
            id,
            description: c(b"All that ABI 1.0 has.\0"),
            ..loupe_tag::EMPTY
        };
        known(sink.tag.unwrap()(sink.context, &tag, null_mut()))?;
        let names = ["flag", "count", "share", "word", "names", "map"];
        let options: Vec<_> = names.into_iter().zip(self.options).collect();
        self.tell(sink, "options", 0, &options)?;
        let steps = [("taken", self.steps as f64), ("measured", self.measured_steps as f64)];
        self.tell(sink, "steps", told.steps, &steps)?;
        self.tell_services(sink)?;
        for (shown, source) in self.watched.iter().chain(&self.pushed) {
            self.tell_source(sink, shown, *source)?;
        }
        let (ends, band) = ([c(b"min\0"), c(b"max\0")], [-1.0, 1.0]);
        let layer = c(b"bands\0");
        let bands = loupe_row {
            tag: id,
            layer,
            band_count: 1,
            band_names: ends.as_ptr(),
            bands: band.as_ptr(),
            ..loupe_row::EMPTY
        };
        known(sink.row.unwrap()(sink.context, &bands, null_mut()))?;
        let (edges, counts) = ([0.0, 1.0, 2.0], [3.0, 1.0]);
        let histogram = loupe_histogram {
            tag: id,
            layer: c(b"histogram\0"),
            line: c(b"bins\0"),
            edges: edges.as_ptr(),
            counts: counts.as_ptr(),
            bin_count: 2,
            events: 4,
            ..loupe_histogram::EMPTY
        };
        known(sink.histogram.unwrap()(sink.context, &histogram, null_mut()))?;
        if self.module.is_null() {
            return Ok(());
        }
        self.ticks += 1; // it rests in the second of each two
        let rest = if self.ticks % 2 == 1 { LOUPE_REST_EVENTS } else { 0 };
        known((*self.wiring).rest.unwrap()((*self.wiring).context, self.rested, rest, null_mut()))
    }
}

/// The sum of what is lent: read as it is, through a handle that shares it, and through one that has a copy.
struct Lent {
    host: *const loupe_host,
    sums: [f64; 3],
}
impl Lent {
    fn of(host: *const loupe_host) -> Self {
        Lent { host, sums: [0.0; 3] }
    }
}
unsafe extern "C" fn take_lent(context: *mut c_void, tensor: *const loupe_tensor) {
    let lent = &mut *(context as *mut Lent);
    let host = &*lent.host;
    let service = host.get_extension.unwrap()(host.context, c(LOUPE_TENSORS_ID)) as *const loupe_tensor_service;
    if service.is_null() {
        return;
    }
    let tensors = &*service;
    let sum = |tensor: *const loupe_tensor| {
        let (mut values, mut count) = ([0.0; 16], 0);
        tensors.copy.unwrap()(host.context, tensor, values.as_mut_ptr(), 16, &mut count, null_mut());
        values.iter().take(count).sum::<f64>()
    };
    lent.sums[0] = sum(tensor);
    for (i, keep) in [tensors.retain.unwrap(), tensors.clone.unwrap()].into_iter().enumerate() {
        let mut kept = null_mut();
        if keep(host.context, tensor, &mut kept, null_mut()) == LOUPE_OK {
            lent.sums[1 + i] = sum(tensors.view.unwrap()(host.context, kept));
            tensors.release.unwrap()(host.context, kept);
        }
    }
}

unsafe extern "C" fn create_whole(
    _: *const loupe_component,
    host: *const loupe_host,
    options: *const loupe_options,
    this: *mut *mut c_void,
    _: *mut loupe_error,
) -> loupe_status {
    if copied(host).and_then(|host| host.get_extension).is_none() {
        return LOUPE_INVALID;
    }
    let word = option_of(options, "word").string;
    let options = [
        option_of(options, "flag").integer as f64,
        option_of(options, "count").integer as f64,
        option_of(options, "share").number,
        if word.is_null() { 0.0 } else { CStr::from_ptr(word).to_bytes().len() as f64 },
        option_of(options, "names").string_count as f64,
        option_of(option_of(options, "map").map, "two").number,
    ];
    (*host).log.unwrap()((*host).context, LOUPE_LOG_INFO, c(b"rust_whole of ABI 1.0 is made\0"));
    *this = Box::into_raw(Box::new(Whole {
        host,
        wiring: null(),
        module: null(),
        watched: Vec::new(),
        pushed: Vec::new(),
        rested: null_mut(),
        options,
        steps: 0,
        measured_steps: 0,
        ticks: 0,
    })) as *mut c_void;
    LOUPE_OK
}
unsafe extern "C" fn attach(this: *mut c_void, wiring: *const loupe_wiring, error: *mut loupe_error) -> loupe_status {
    guarded(error, || {
        copied(wiring).and_then(|wiring| wiring.get_extension).ok_or("the host lacks what ABI 1.0 has")?;
        (*(this as *mut Whole)).wiring = wiring;
        (*(this as *mut Whole)).attach()
    })
}
unsafe extern "C" fn visit(this: *mut c_void, module: *const loupe_module, error: *mut loupe_error) -> loupe_status {
    guarded(error, || (*(this as *mut Whole)).visit(module))
}
unsafe extern "C" fn forget(this: *mut c_void, module: *const loupe_module) {
    let me = &mut *(this as *mut Whole);
    if me.module == module {
        me.module = null();
        me.watched.clear();
    }
}
unsafe extern "C" fn step(
    this: *mut c_void,
    step: *const loupe_step,
    sink: *const loupe_sink,
    error: *mut loupe_error,
) -> loupe_status {
    let me = &mut *(this as *mut Whole);
    let told = match (copied(step), copied(sink).and_then(|sink| sink.finding)) {
        (Some(told), Some(_)) => told,
        _ => return LOUPE_INVALID,
    };
    me.measured_steps += (told.flags & LOUPE_STEP_MEASURED != 0) as u64;
    me.steps += 1;
    if me.steps > 1 {
        return LOUPE_OK;
    }
    let finding = loupe_finding {
        severity: LOUPE_SEVERITY_INFO,
        rule: c(b"rust_first_step\0"),
        message: c(b"the first step was taken\0"),
        count: 1,
        ..loupe_finding::EMPTY
    };
    (*sink).finding.unwrap()((*sink).context, &finding, error)
}
unsafe extern "C" fn report(
    this: *mut c_void,
    tick: *const loupe_tick,
    sink: *const loupe_sink,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || (*(this as *mut Whole)).report(tick, &*sink))
}

/// Writes a line for each message.
struct Text {
    path: String,
    file: Option<File>,
}
impl Text {
    fn write(&mut self, line: String) -> Result {
        let file = self.file.as_mut().ok_or("the run has not begun")?;
        writeln!(file, "{}", line).map_err(|e| format!("'{}' cannot be written: {}", self.path, e).into())
    }
}
/// With six digits behind the point, as far as there are.
fn digits(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

impl Visualizer for Text {
    const HELP: &'static str = "a line for each message";

    fn options() -> Vec<plugin::DeclaredOption> {
        vec![plugin::DeclaredOption::text("path", "lines.txt", "the file")]
    }
    fn new(options: &Options) -> Result<Self> {
        Ok(Text { path: options.text("path")?, file: None })
    }
    fn begin(&mut self, run: &Told<loupe_run>) -> Result {
        let file = File::create(&self.path).map_err(|e| format!("'{}' cannot be written: {}", self.path, e))?;
        self.file = Some(file);
        self.write(format!("begin, process {} of {}", run.abi.rank, run.abi.world_size))
    }
    fn tag(&mut self, tag: &Told<loupe_tag>) -> Result {
        self.write(format!("tag {}", tag.id()))
    }
    fn begin_tick(&mut self, tick: &loupe_tick) -> Result {
        self.write(format!("tick {} after {} steps", tick.at.epoch, tick.at.step))
    }
    fn row(&mut self, row: &Told<loupe_row>) -> Result {
        let mut line = format!("row {}, of {}:", row.layer().unwrap_or_default(), row.abi.events);
        for (name, value) in row.values() {
            line += &format!(" {}={}", name, digits(value));
        }
        for [low, high] in row.bands() {
            line += &format!(" {}..{}={}..{}", low.0, high.0, low.1, high.1);
        }
        self.write(line)
    }
    fn histogram(&mut self, histogram: &Told<loupe_histogram>) -> Result {
        let mut line = format!("histogram {}, {}:", histogram.layer().unwrap_or_default(), histogram.line());
        for (low, high, count) in histogram.bins() {
            line += &format!(" {}..{}={}", low, high, count);
        }
        self.write(line)
    }
    fn end_tick(&mut self) -> Result {
        self.write("end of tick".to_string())
    }
    fn finding(&mut self, finding: &Told<loupe_finding>) -> Result {
        let (state, severity) = (finding.abi.state, finding.abi.severity);
        let words = finding.message();
        self.write(format!("finding {}, state {}, severity {}: {}", finding.rule(), state, severity, words))
    }
    fn note(&mut self, note: &Told<loupe_note>) -> Result {
        self.write(format!("note {}", note.text()))
    }
    fn flush(&mut self) -> Result {
        self.file.as_mut().map_or(Ok(()), |file| file.flush().map_err(|e| e.to_string().into()))
    }
    fn end(&mut self, ending: &loupe_ending) -> Result {
        self.write(format!("end, {}", ending.how))
    }
}

fn option(name: &'static [u8], kind: u32) -> *const loupe_option {
    forever(loupe_option { r#type: kind, name: c(name), help: c(b"for the lens\0"), ..loupe_option::EMPTY })
}
fn gatherer() -> *const loupe_component {
    let number = LOUPE_TAP_FORWARD;
    let forward = loupe_option_value {
        r#type: LOUPE_TYPE_INTEGER,
        integer: number as i64,
        number: number as f64,
        ..loupe_option_value::EMPTY
    };
    let declared = unsafe { *option(b"tap\0", LOUPE_TYPE_INTEGER) };
    let tap: *const loupe_option = forever(loupe_option { default_value: forever(forward), ..declared });
    let table = loupe_gatherer { open: Some(open_tap), event: Some(take_event), ..loupe_gatherer::EMPTY };
    forever(loupe_component {
        interface_id: c(LOUPE_GATHERER_ID),
        name: c(b"rust_tap\0"),
        help: c(b"one tap\0"),
        table: forever(table) as *const c_void,
        options: forever([tap]) as *const *const loupe_option,
        option_count: 1,
        create: Some(create_tap),
        destroy: Some(destroy::<Tap>),
        ..loupe_component::EMPTY
    })
}
fn lens() -> *const loupe_component {
    let table = loupe_lens {
        attach: Some(attach),
        visit: Some(visit),
        forget: Some(forget),
        step: Some(step),
        report: Some(report),
        ..loupe_lens::EMPTY
    };
    let options = [
        option(b"flag\0", LOUPE_TYPE_BOOLEAN),
        option(b"count\0", LOUPE_TYPE_INTEGER),
        option(b"share\0", LOUPE_TYPE_NUMBER),
        option(b"word\0", LOUPE_TYPE_STRING),
        option(b"names\0", LOUPE_TYPE_STRINGS),
        option(b"map\0", LOUPE_TYPE_MAP),
    ];
    forever(loupe_component {
        interface_id: c(LOUPE_LENS_ID),
        name: c(b"rust_whole\0"),
        help: c(b"all that there is\0"),
        table: forever(table) as *const c_void,
        options: forever(options) as *const *const loupe_option,
        option_count: 6,
        create: Some(create_whole),
        destroy: Some(destroy::<Whole>),
        ..loupe_component::EMPTY
    })
}

unsafe extern "C" fn get_extension(id: *const c_char) -> *const c_void {
    plugin::interface(id, "rust_whole", "1.0", || {
        vec![gatherer(), plugin::preprocessor::<Measures>("rust_measures"), lens(), plugin::visualizer::<Text>("rust_text")]
    })
}
const LINES: &str = "loupe.gatherer/1 rust_tap\nloupe.preprocessor/1 rust_measures\nloupe.lens/1 rust_whole\n\
                     loupe.visualizer/1 rust_text\n\0";
#[used]
#[link_section = ".note.loupe"]
static NOTE: plugin::Note<{ LINES.len() }> = plugin::Note::new(LINES);
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static loupe_plugin_entry: loupe_entry = loupe_entry {
    magic: LOUPE_MAGIC,
    abi_major: LOUPE_ABI_MAJOR,
    abi_minor: LOUPE_ABI_MINOR,
    get_extension: Some(get_extension),
};
