//! The functions of a lens at a tick or a step: reading watched streams, and reporting values and findings.

use crate::abi::*;
use crate::boundary::{asked, c_text, or_null, text_of, there, Result};
use crate::lens::{Source, Watched};

/// Passed to a lens; valid for the call.
pub struct Report<'a> {
    pub(crate) sink: loupe_sink,
    pub(crate) wiring: &'a loupe_wiring,
    pub(crate) sources: &'a [Watched],
}

impl Report<'_> {
    /// The names and numbers of a source's series since the last tick; empty if its module was forgotten. If a series's
    /// `count` is 0, its other numbers mean nothing.
    pub fn read(&self, source: &Source) -> Result<Vec<(String, loupe_series)>> {
        let (count, read) = (there(self.wiring.series_count)?, there(self.wiring.read)?);
        let context = self.wiring.context;
        let numbers = |source, index| unsafe {
            let mut numbers = loupe_series::EMPTY;
            asked(|error| read(context, source, index, &mut numbers, error))?;
            Ok((text_of(numbers.name), numbers))
        };
        if !self.sources.iter().any(|each| each.source == source.0) {
            return Ok(Vec::new());
        }
        (0..unsafe { count(context, source.0) }).map(|index| numbers(source.0, index)).collect()
    }
    /// Declares a tag; call it before the tag's first number. `kind`: LOUPE_SCALE_NUMERICAL, …; `flags`: LOUPE_TAG_ bits.
    pub fn tag(&self, id: &str, description: &str, kind: u32, flags: u32) -> Result {
        let (id, description) = (c_text(id), c_text(description));
        let (id, description) = (id.as_ptr(), description.as_ptr());
        let tag = loupe_tag { r#type: kind, flags, id, description, ..loupe_tag::EMPTY };
        let tell = there(self.sink.tag)?;
        asked(|error| unsafe { tell(self.sink.context, &tag, error) })
    }
    /// Reports a value of a layer, or of the whole model. `events`: the number of events in it, 0 if unknown.
    pub fn value(&self, tag: &str, layer: Option<&str>, line: &str, value: f64, events: u64) -> Result {
        self.number(tag, layer, line, value, loupe_row { events, ..loupe_row::EMPTY })
    }
    /// Reports a value of a single step since the last tick.
    pub fn value_at_step(&self, tag: &str, layer: Option<&str>, line: &str, value: f64, step: u64) -> Result {
        self.number(tag, layer, line, value, loupe_row { step, ..loupe_row::EMPTY })
    }
    fn number(&self, tag: &str, layer: Option<&str>, line: &str, value: f64, row: loupe_row) -> Result {
        let (tag, layer, line) = (c_text(tag), layer.map(c_text), c_text(line));
        let (tag, layer, value_names, values) = (tag.as_ptr(), or_null(&layer), &line.as_ptr(), &value);
        let told = loupe_row { tag, layer, value_count: 1, value_names, values, ..row };
        let tell = there(self.sink.row)?;
        asked(|error| unsafe { tell(self.sink.context, &told, error) })
    }
    /// Reports a finding: its message and advice; also in Lens::step. It replaces an earlier finding of its rule and layer.
    /// `severity`: LOUPE_SEVERITY_WARNING, …; None: the finding is resolved.
    pub fn finding(
        &self,
        severity: Option<u32>,
        rule: &str,
        layer: Option<&str>,
        [message, advice]: [&str; 2],
    ) -> Result {
        let (rule, layer, message, advice) = (c_text(rule), layer.map(c_text), c_text(message), c_text(advice));
        let flags = if severity.is_none() { LOUPE_FINDING_OVER } else { 0 };
        let (severity, rule, layer) = (severity.unwrap_or(0), rule.as_ptr(), or_null(&layer));
        let (message, advice) = (message.as_ptr(), advice.as_ptr());
        let told = loupe_finding { severity, flags, rule, layer, message, advice, ..loupe_finding::EMPTY };
        let tell = there(self.sink.finding)?;
        asked(|error| unsafe { tell(self.sink.context, &told, error) })
    }
}
