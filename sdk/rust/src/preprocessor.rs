//! A preprocessor: turns the events of one stream into numbers.

use crate::abi::*;
use crate::boundary::{copied, fill, guarded, there, Failure, Result};
use crate::plugin::{DeclaredOption, Options};
use crate::series::Series;
use crate::view::Event;
use std::os::raw::c_void;

/// Makes numbers of the events of one stream. Its calls never overlap. The layer folds the numbers, and merges those of
/// several processes.
pub trait Preprocessor: Sized + Send + 'static {
    /// A description in one line.
    const HELP: &'static str;
    /// The names of its series.
    const SERIES: &'static [&'static str];

    fn options() -> Vec<DeclaredOption> {
        Vec::new()
    }
    fn new(options: &Options) -> Result<Self>;
    /// The wanted measurements, LOUPE_MEASURE_ bits, and the wanted events; see loupe_request.
    fn request(&self) -> loupe_request;
    /// Pushes the numbers of an event to `series`, in the order of SERIES. Must be quick, and must not allocate memory.
    fn process(&mut self, event: &Event, series: &mut [Series]) -> Result;
    /// The tick is over, and the series are empty: forget other data of that tick.
    fn reset(&mut self) {}
}

struct Running<T> {
    preprocessor: T,
    series: Vec<Series>,
}

unsafe fn running<'a, T>(this: *mut c_void) -> &'a mut Running<T> {
    &mut *(this as *mut Running<T>)
}

unsafe extern "C" fn request<T: Preprocessor>(
    this: *mut c_void,
    request: *mut loupe_request,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || Ok(fill(request, &running::<T>(this).preprocessor.request())))
}
unsafe extern "C" fn process<T: Preprocessor>(
    this: *mut c_void,
    event: *const loupe_event,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        let running = running::<T>(this);
        running.preprocessor.process(&Event { abi: there(copied(event))? }, &mut running.series)
    })
}
unsafe extern "C" fn series_count<T: Preprocessor>(_: *mut c_void) -> usize {
    T::SERIES.len()
}
unsafe extern "C" fn read<T: Preprocessor>(
    this: *mut c_void,
    i: usize,
    row: *mut loupe_series,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        let found = running::<T>(this).series.get(i).ok_or_else(|| Failure {
            status: LOUPE_NOT_FOUND,
            message: format!("there is no series {}", i),
        })?;
        Ok(fill(row, &found.numbers))
    })
}
unsafe extern "C" fn reset<T: Preprocessor>(this: *mut c_void, error: *mut loupe_error) -> loupe_status {
    guarded(error, || {
        let running = running::<T>(this);
        running.series.iter_mut().for_each(Series::reset);
        Ok(running.preprocessor.reset())
    })
}

/// The beginning of a saved state: the layer's name for the form, and its version.
const STATE: &[u8; 8] = b"series 1";

unsafe extern "C" fn save_state<T: Preprocessor>(
    this: *mut c_void,
    write: loupe_write,
    writer: *mut c_void,
    error: *mut loupe_error,
) -> loupe_status {
    let mut status = LOUPE_OK;
    let failed = guarded(error, || {
        let write = there(write)?;
        let mut tell = |bytes: &[u8]| {
            if status == LOUPE_OK {
                status = write(writer, bytes.as_ptr() as *const c_void, bytes.len(), error);
            }
        };
        tell(STATE);
        running::<T>(this).series.iter().for_each(|series| tell(&series.save()));
        Ok(())
    });
    if failed != LOUPE_OK { failed } else { status }
}
unsafe extern "C" fn merge_state<T: Preprocessor>(
    this: *mut c_void,
    bytes: *const c_void,
    size: usize,
    error: *mut loupe_error,
) -> loupe_status {
    guarded(error, || {
        let series = &mut running::<T>(this).series;
        let bytes = crate::boundary::list(bytes as *const u8, size);
        let numbers = bytes.strip_prefix(STATE).filter(|rest| rest.len() == series.len() * Series::BYTES);
        let numbers = numbers.ok_or_else(|| Failure {
            status: LOUPE_INVALID,
            message: "these bytes are not a state of this preprocessor".to_string(),
        })?;
        Ok(series.iter_mut().zip(numbers.chunks_exact(Series::BYTES)).for_each(|(each, bytes)| each.merge(bytes)))
    })
}

unsafe fn create<T: Preprocessor>(options: &Options) -> Result<*mut c_void> {
    let series = T::SERIES.iter().map(|name| Series::new(name)).collect();
    Ok(Box::into_raw(Box::new(Running { preprocessor: T::new(options)?, series })) as *mut c_void)
}
unsafe fn destroy<T: Preprocessor>(this: *mut c_void) {
    drop(Box::from_raw(this as *mut Running<T>));
}

kind!(Preprocessor, LOUPE_PREPROCESSOR_ID, loupe_preprocessor {
    request: Some(request::<T>),
    process: Some(process::<T>),
    series_count: Some(series_count::<T>),
    read: Some(read::<T>),
    reset: Some(reset::<T>),
    save_state: Some(save_state::<T>),
    merge_state: Some(merge_state::<T>),
});
