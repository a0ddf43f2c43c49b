//! A visualizer: shows or stores what lenses report.

use crate::abi::*;
use crate::boundary::{copied, guarded, list, text_of, text_or_none, there, Result};
use crate::plugin::{DeclaredOption, Options};
use std::os::raw::c_void;

/// Shows or stores what lenses report. The host calls it on a separate thread, and its calls never overlap. Training does
/// not wait for it.
pub trait Visualizer: Sized + Send + 'static {
    /// A description in one line.
    const HELP: &'static str;

    fn options() -> Vec<DeclaredOption> {
        Vec::new()
    }
    fn new(options: &Options) -> Result<Self>;
    fn begin(&mut self, _run: &Told<loupe_run>) -> Result {
        Ok(())
    }
    /// Called before the tag's first value. A tag with the same id replaces the earlier one.
    fn tag(&mut self, _tag: &Told<loupe_tag>) -> Result {
        Ok(())
    }
    fn begin_tick(&mut self, _tick: &loupe_tick) -> Result {
        Ok(())
    }
    /// A tag and layer may have several rows in a tick.
    fn row(&mut self, row: &Told<loupe_row>) -> Result;
    fn histogram(&mut self, _histogram: &Told<loupe_histogram>) -> Result {
        Ok(())
    }
    fn end_tick(&mut self) -> Result {
        Ok(())
    }
    fn finding(&mut self, _finding: &Told<loupe_finding>) -> Result {
        Ok(())
    }
    fn note(&mut self, _note: &Told<loupe_note>) -> Result {
        Ok(())
    }
    /// Returns when everything so far is shown or stored, safe even if the process is killed.
    fn flush(&mut self) -> Result {
        Ok(())
    }
    fn end(&mut self, _ending: &loupe_ending) -> Result {
        Ok(())
    }
}

/// A message to a visualizer, borrowed for the call.
#[non_exhaustive]
pub struct Told<T> {
    pub abi: T,
}

impl Told<loupe_run> {
    pub fn name(&self) -> String {
        unsafe { text_of(self.abi.name) }
    }
    /// The run's folder; empty if the run writes no files.
    pub fn directory(&self) -> String {
        unsafe { text_of(self.abi.directory) }
    }
}
impl Told<loupe_tag> {
    pub fn id(&self) -> String {
        unsafe { text_of(self.abi.id) }
    }
    /// The title to show, or the id if it has no title.
    pub fn title(&self) -> String {
        unsafe { text_or_none(self.abi.title) }.unwrap_or_else(|| self.id())
    }
}
impl Told<loupe_row> {
    pub fn tag(&self) -> String {
        unsafe { text_of(self.abi.tag) }
    }
    /// The layer; None for the whole model.
    pub fn layer(&self) -> Option<String> {
        unsafe { text_or_none(self.abi.layer) }
    }
    pub fn values(&self) -> Vec<(String, f64)> {
        let count = self.abi.value_count;
        let (names, values) = unsafe { (list(self.abi.value_names, count), list(self.abi.values, count)) };
        names.iter().zip(values).map(|(name, value)| (unsafe { text_of(*name) }, *value)).collect()
    }
    /// Bands between two named numbers.
    pub fn bands(&self) -> Vec<[(String, f64); 2]> {
        let count = 2 * self.abi.band_count;
        let (names, ends) = unsafe { (list(self.abi.band_names, count), list(self.abi.bands, count)) };
        let end = |i: usize| (unsafe { text_of(names[i]) }, ends[i]);
        (0..names.len().min(ends.len()) / 2).map(|i| [end(2 * i), end(2 * i + 1)]).collect()
    }
}
impl Told<loupe_histogram> {
    pub fn tag(&self) -> String {
        unsafe { text_of(self.abi.tag) }
    }
    /// The layer; None for the whole model.
    pub fn layer(&self) -> Option<String> {
        unsafe { text_or_none(self.abi.layer) }
    }
    pub fn line(&self) -> String {
        unsafe { text_of(self.abi.line) }
    }
    /// The low edge, the high edge and the content of each bin.
    pub fn bins(&self) -> Vec<(f64, f64, f64)> {
        let count = self.abi.bin_count;
        let (edges, counts) = unsafe { (list(self.abi.edges, count + 1), list(self.abi.counts, count)) };
        edges.windows(2).zip(counts).map(|(edges, count)| (edges[0], edges[1], *count)).collect()
    }
}
impl Told<loupe_finding> {
    pub fn rule(&self) -> String {
        unsafe { text_of(self.abi.rule) }
    }
    pub fn layer(&self) -> Option<String> {
        unsafe { text_or_none(self.abi.layer) }
    }
    pub fn message(&self) -> String {
        unsafe { text_of(self.abi.message) }
    }
    pub fn advice(&self) -> Option<String> {
        unsafe { text_or_none(self.abi.advice) }
    }
    /// Whether the finding is resolved.
    pub fn is_over(&self) -> bool {
        self.abi.state == LOUPE_FINDING_GONE
    }
}
impl Told<loupe_note> {
    pub fn text(&self) -> String {
        unsafe { text_of(self.abi.text) }
    }
}

/// Defines a function of the table by a method of the visualizer.
macro_rules! call {
    ($name:ident($told:ident: $kind:ty) $work:expr) => {
        unsafe extern "C" fn $name<T: Visualizer>(
            this: *mut c_void,
            $told: *const $kind,
            error: *mut loupe_error,
        ) -> loupe_status {
            guarded(error, || {
                let $told = there(copied($told))?;
                T::$name(&mut *(this as *mut T), $work)
            })
        }
    };
    ($name:ident()) => {
        unsafe extern "C" fn $name<T: Visualizer>(this: *mut c_void, error: *mut loupe_error) -> loupe_status {
            guarded(error, || T::$name(&mut *(this as *mut T)))
        }
    };
}
call!(begin(run: loupe_run) &Told { abi: run });
call!(tag(tag: loupe_tag) &Told { abi: tag });
call!(begin_tick(tick: loupe_tick) &tick);
call!(row(row: loupe_row) &Told { abi: row });
call!(histogram(histogram: loupe_histogram) &Told { abi: histogram });
call!(end_tick());
call!(finding(finding: loupe_finding) &Told { abi: finding });
call!(note(note: loupe_note) &Told { abi: note });
call!(flush());
call!(end(ending: loupe_ending) &ending);

unsafe fn create<T: Visualizer>(options: &Options) -> Result<*mut c_void> {
    Ok(Box::into_raw(Box::new(T::new(options)?)) as *mut c_void)
}
unsafe fn destroy<T: Visualizer>(this: *mut c_void) {
    drop(Box::from_raw(this as *mut T));
}

kind!(Visualizer, LOUPE_VISUALIZER_ID, loupe_visualizer {
    begin: Some(begin::<T>),
    tag: Some(tag::<T>),
    begin_tick: Some(begin_tick::<T>),
    row: Some(row::<T>),
    histogram: Some(histogram::<T>),
    end_tick: Some(end_tick::<T>),
    flush: Some(flush::<T>),
    finding: Some(finding::<T>),
    note: Some(note::<T>),
    end: Some(end::<T>),
});
