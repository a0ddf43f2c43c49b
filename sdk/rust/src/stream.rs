//! A preprocessor made of a function: it folds the number that this makes of each event.

use crate::abi::*;
use crate::boundary::{guarded, need, Failure};
use crate::layout::reaches;
use crate::series::Series;
use crate::view::Event;
use std::os::raw::{c_char, c_void};
use std::ptr::null;

pub(crate) type Function = Box<dyn FnMut(&Event) -> Option<f64> + Send>;

pub(crate) struct Stream {
    pub measures: u32,
    pub passes: u32,
    pub function: Function,
    pub series: Series,
}

impl Stream {
    fn process(&mut self, event: &Event) {
        if self.measures != 0 {
            let measurement = match event.measurement() {
                Some(measurement) if measurement.measures & self.measures == self.measures => measurement,
                _ => return,
            };
            if measurement.numel == 0 {
                return;
            }
            // A number made of the finite rest would look sound and not be.
            if measurement.nan_count + measurement.inf_count > 0 {
                return self.series.push(if measurement.nan_count > 0 { f64::NAN } else { f64::INFINITY });
            }
        } else if !event.tensor().map_or(false, |tensor| tensor.is_readable()) {
            return;
        }
        if let Some(value) = (self.function)(event) {
            self.series.push(value);
        }
    }
}

unsafe fn stream<'a>(this: *mut c_void) -> &'a mut Stream {
    &mut *(this as *mut Stream)
}
fn need_series(series: usize) -> Result<(), Failure> {
    if series == 0 {
        return Ok(());
    }
    Err(Failure { status: LOUPE_NOT_FOUND, message: format!("there is no series {}", series) })
}

unsafe extern "C" fn request(this: *mut c_void, request: *mut loupe_request, error: *mut loupe_error) -> loupe_status {
    guarded(error, || {
        need(reaches!(request as *const loupe_request, epsilon), "the request")?;
        (*request).measures = stream(this).measures;
        (*request).passes = stream(this).passes;
        if stream(this).measures == 0 {
            (*request).flags = LOUPE_REQUEST_TENSORS;
        }
        Ok(())
    })
}
unsafe extern "C" fn process(this: *mut c_void, event: *const loupe_event, error: *mut loupe_error) -> loupe_status {
    guarded(error, || {
        stream(this).process(&Event::from(event)?);
        Ok(())
    })
}
unsafe extern "C" fn series_count(_: *mut c_void) -> usize {
    1
}
unsafe extern "C" fn series_name(
    _: *mut c_void,
    series: usize,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        need_series(series)?;
        let whole = b"value";
        *length = whole.len();
        if capacity > 0 {
            let written = whole.len().min(capacity - 1);
            std::ptr::copy_nonoverlapping(whole.as_ptr() as *const c_char, name, written);
            *name.add(written) = 0;
        }
        Ok(())
    })
}
unsafe extern "C" fn aggregate(
    this: *mut c_void,
    series: usize,
    aggregation: u32,
    value: *mut f64,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        need_series(series)?;
        let series = &stream(this).series;
        let unsupported = "a quantile was asked for that is not kept".to_string();
        let number =
            series.aggregate(aggregation).ok_or(Failure { status: LOUPE_UNSUPPORTED, message: unsupported })?;
        if series.is_empty() {
            return Err(Failure { status: LOUPE_NOT_FOUND, message: "no values".to_string() });
        }
        *value = number;
        Ok(())
    })
}
unsafe extern "C" fn reset(this: *mut c_void, error: *mut loupe_error) -> loupe_status {
    guarded(error, || {
        stream(this).series.reset();
        Ok(())
    })
}

/// A table that is never written to, so that any thread may read it.
struct Constant(loupe_preprocessor);
unsafe impl Sync for Constant {}
static TABLE: Constant = Constant(loupe_preprocessor {
    struct_size: std::mem::size_of::<loupe_preprocessor>() as u32,
    reserved: 0,
    get_extension: None,
    request: Some(request),
    process: Some(process),
    series_count: Some(series_count),
    series_name: Some(series_name),
    aggregate: Some(aggregate),
    values: None,
    reset: Some(reset),
    save_state: None,
    merge_state: None,
});

/// Puts the stream behind a gatherer on a module. It must outlive the source.
pub(crate) unsafe fn watch(
    wiring: &loupe_wiring,
    module: &loupe_module,
    gatherer: *const c_char,
    label: *const c_char,
    stream: &mut Stream,
) -> Result<*mut loupe_source, Failure> {
    let watch = loupe_watch {
        struct_size: std::mem::size_of::<loupe_watch>() as u32,
        reserved: 0,
        module,
        gatherer,
        gatherer_options: null(),
        label,
        preprocessor: null(),
        preprocessor_options: null(),
        own_interface: &TABLE.0,
        own_preprocessor: stream as *mut Stream as *mut c_void,
    };
    let mut source = std::ptr::null_mut();
    let mut text = [0 as c_char; 1024];
    let mut error = loupe_error { struct_size: 16, capacity: text.len() as u32, message: text.as_mut_ptr() };
    let status = wiring.watch.unwrap()(wiring.context, &watch, &mut source, &mut error);
    if status != LOUPE_OK {
        return Err(Failure { status, message: crate::boundary::text_of(text.as_ptr()) });
    }
    Ok(source)
}
