//! A preprocessor made of a function: it folds the numbers that this makes of each event.

use crate::abi::*;
use crate::boundary::{guarded, need, Failure};
use crate::layout::reaches;
use crate::series::Series;
use crate::view::Event;
use std::os::raw::{c_char, c_void};
use std::ptr::null;

/// Where a function puts several numbers of one event, each in the series of its name. Only a name's first number
/// allocates.
pub struct Numbers {
    series: Vec<(String, Series)>,
    /// Of the names with an index: where the series of each index stands.
    places: Vec<(String, Vec<usize>)>,
    keeps_values: bool,
}

impl Numbers {
    pub fn push(&mut self, name: &str, value: f64) {
        let place = match self.series.iter().position(|(known, _)| known == name) {
            Some(place) => place,
            None => self.add(name.to_string()),
        };
        self.series[place].1.push(value);
    }
    /// The same for numbers of a kind, from 0: push_at("head", 3, x) goes into "head 3".
    pub fn push_at(&mut self, name: &str, index: usize, value: f64) {
        let row = match self.places.iter().position(|(known, _)| known == name) {
            Some(row) => row,
            None => {
                self.places.push((name.to_string(), Vec::new()));
                self.places.len() - 1
            }
        };
        while self.places[row].1.len() <= index {
            let place = self.add(format!("{} {}", name, self.places[row].1.len()));
            self.places[row].1.push(place);
        }
        let place = self.places[row].1[index];
        self.series[place].1.push(value);
    }
    fn add(&mut self, name: String) -> usize {
        self.series.push((name, Series::new(self.keeps_values)));
        self.series.len() - 1
    }
}

pub(crate) enum Function {
    One(Box<dyn FnMut(&Event) -> Option<f64> + Send>),
    Several(Box<dyn FnMut(&Event, &mut Numbers) + Send>),
}

pub(crate) struct Stream {
    measures: u32,
    passes: u32,
    function: Function,
    numbers: Numbers,
}

impl Stream {
    pub fn new(measures: u32, passes: u32, function: Function, keeps_values: bool) -> Self {
        let mut numbers = Numbers { series: Vec::new(), places: Vec::new(), keeps_values };
        if let Function::One(_) = function {
            numbers.add("value".to_string());
        }
        Stream { measures, passes, function, numbers }
    }
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
            let is_one = matches!(self.function, Function::One(_));
            if is_one && measurement.nan_count + measurement.inf_count > 0 {
                let value = if measurement.nan_count > 0 { f64::NAN } else { f64::INFINITY };
                return self.numbers.push("value", value);
            }
        } else if !event.tensor().map_or(false, |tensor| tensor.is_readable()) {
            return;
        }
        match &mut self.function {
            Function::One(function) => {
                if let Some(value) = function(event) {
                    self.numbers.push("value", value);
                }
            }
            Function::Several(function) => function(event, &mut self.numbers),
        }
    }
    fn series(&mut self, index: usize) -> Result<&mut (String, Series), Failure> {
        let message = format!("there is no series {}", index);
        self.numbers.series.get_mut(index).ok_or(Failure { status: LOUPE_NOT_FOUND, message })
    }
}

unsafe fn stream<'a>(this: *mut c_void) -> &'a mut Stream {
    &mut *(this as *mut Stream)
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
unsafe extern "C" fn series_count(this: *mut c_void) -> usize {
    stream(this).numbers.series.len()
}
unsafe extern "C" fn series_name(
    this: *mut c_void,
    series: usize,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        let whole = stream(this).series(series)?.0.as_bytes();
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
        let series = &stream(this).series(series)?.1;
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
        stream(this).numbers.series.iter_mut().for_each(|(_, series)| series.reset());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_numbers_go_into_the_series_of_their_names() {
        let mut stream = Stream::new(0, 0, Function::Several(Box::new(|_, _| ())), false);
        assert!(stream.series(0).is_err());
        stream.numbers.push("rank", 4.0);
        stream.numbers.push_at("head", 1, 3.0);
        stream.numbers.push_at("head", 0, 2.0);
        stream.numbers.push("rank", 6.0);
        let mean = |(name, series): &(String, Series)| (name.clone(), series.aggregate(LOUPE_AGGREGATE_MEAN).unwrap());
        let means: Vec<(String, f64)> = stream.numbers.series.iter().map(mean).collect();
        let expected = [("rank", 5.0), ("head 0", 2.0), ("head 1", 3.0)];
        assert_eq!(means, expected.map(|(name, mean)| (name.to_string(), mean)));
        assert!(stream.series(3).is_err());
    }
}
