//! Where a lens tells its tags, values and findings, and the lines that are drawn of a layer.

use crate::abi::*;
use crate::boundary::{checked, need, Failure};
use crate::layer_lens::Layer;
use crate::layout::reaches;
use std::ffi::CString;
use std::os::raw::c_char;
use std::ptr::null;

/// Valid for the call.
pub struct Report<'a> {
    sink: &'a loupe_sink,
    error: *mut loupe_error,
}

/// What is wrong, in words: see loupe_finding.
pub struct Finding<'a> {
    pub rule: &'a str,
    pub severity: u32,
    pub state: u32,
    pub layer: Option<&'a str>,
    pub message: &'a str,
    pub advice: Option<&'a str>,
    pub value: f64,
    pub threshold: f64,
    /// How often it was seen; 1 where that is not counted.
    pub count: u64,
}

fn c(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap()
}
fn or_null(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(null(), |text| text.as_ptr())
}

impl Report<'_> {
    pub(crate) unsafe fn from<'a>(sink: *const loupe_sink, error: *mut loupe_error) -> Result<Report<'a>, Failure> {
        need(reaches!(sink, finding), "the sink")?;
        Ok(Report { sink: &*sink, error })
    }
    /// Before the tag's first value. `is_big`: one plot for the whole model.
    pub fn tag(&self, id: &str, description: &str, kind: u32, is_big: bool) -> Result<(), Failure> {
        let (id, description) = (c(id), c(description));
        let tag = loupe_tag {
            struct_size: std::mem::size_of::<loupe_tag>() as u32,
            r#type: kind,
            flags: LOUPE_PLOT_ANNOTATE | if is_big { LOUPE_PLOT_BIG } else { 0 },
            reserved: 0,
            id: id.as_ptr(),
            title: null(),
            unit: null(),
            description: description.as_ptr(),
            healthy: null(),
            advice: null(),
            y_minimum: f64::NAN,
            y_maximum: f64::NAN,
        };
        checked(unsafe { self.sink.tag.unwrap()(self.sink.context, &tag, self.error) })
    }
    /// Of a layer, or of the whole model. `events`: of how many it is made, 0 where that says nothing.
    pub fn value(&self, tag: &str, layer: Option<&str>, line: &str, value: f64, events: u64) -> Result<(), Failure> {
        let (tag, layer, line) = (c(tag), layer.map(c), c(line));
        let value = loupe_value {
            struct_size: std::mem::size_of::<loupe_value>() as u32,
            flags: 0,
            tag: tag.as_ptr(),
            layer: or_null(&layer),
            module: null(),
            line: line.as_ptr(),
            value,
            events,
        };
        checked(unsafe { self.sink.value.unwrap()(self.sink.context, &value, self.error) })
    }
    pub fn range(&self, tag: &str, layer: Option<&str>, names: [&str; 2], ends: [f64; 2]) -> Result<(), Failure> {
        let (tag, layer, low_name, high_name) = (c(tag), layer.map(c), c(names[0]), c(names[1]));
        let range = loupe_range {
            struct_size: std::mem::size_of::<loupe_range>() as u32,
            flags: 0,
            tag: tag.as_ptr(),
            layer: or_null(&layer),
            module: null(),
            low_name: low_name.as_ptr(),
            high_name: high_name.as_ptr(),
            low: ends[0],
            high: ends[1],
            events: 0,
        };
        checked(unsafe { self.sink.range.unwrap()(self.sink.context, &range, self.error) })
    }
    pub fn finding(&self, finding: &Finding) -> Result<(), Failure> {
        let (rule, message) = (c(finding.rule), c(finding.message));
        let (layer, advice) = (finding.layer.map(c), finding.advice.map(c));
        let told = loupe_finding {
            struct_size: std::mem::size_of::<loupe_finding>() as u32,
            severity: finding.severity,
            state: finding.state,
            reserved: 0,
            rule: rule.as_ptr(),
            module: null(),
            layer: or_null(&layer),
            parameter: null(),
            message: message.as_ptr(),
            advice: or_null(&advice),
            tag: null(),
            source: null(),
            value: finding.value,
            threshold: finding.threshold,
            first_step: 0,
            last_step: 0,
            first_epoch: 0.0,
            last_epoch: 0.0,
            count: finding.count,
        };
        checked(unsafe { self.sink.finding.unwrap()(self.sink.context, &told, self.error) })
    }
}

/// The names that YAML uses for ways to make one number of a series, in the order of LOUPE_AGGREGATE_.
pub(crate) const LINES: [&str; 8] = ["mean", "median", "max", "min", "Q1", "Q3", "IQR", "std"];
pub(crate) const BANDS: [&str; 3] = ["std", "Q1-Q3", "min-max"];

/// Which lines and bands are drawn, as the options `line` and `range` say.
pub(crate) struct Lines {
    lines: Vec<(String, u32)>,
    bands: Vec<String>,
}

impl Lines {
    pub fn new(lines: &[String], bands: &[String]) -> Self {
        let number = |name: &String| LINES.iter().position(|each| each == name).map(|i| (name.clone(), i as u32 + 1));
        Lines {
            lines: lines.iter().filter_map(number).collect(),
            bands: bands.iter().filter(|band| *band != "none").cloned().collect(),
        }
    }
    pub fn need_quantiles(&self) -> bool {
        let is_quantile = |name: &str| matches!(name, "median" | "Q1" | "Q3" | "IQR" | "Q1-Q3");
        self.lines.iter().any(|(name, _)| is_quantile(name)) || self.bands.iter().any(|name| is_quantile(name))
    }
    /// Of one series, each line's name after `prefix`.
    pub fn write(
        &self,
        report: &Report,
        tag: &str,
        layer: &Layer,
        series: usize,
        prefix: &str,
    ) -> Result<(), Failure> {
        // An epoch of NaN alone has events, and no number.
        let get = |aggregation| layer.get_at(series, aggregation).filter(|value: &f64| value.is_finite());
        let events = get(LOUPE_AGGREGATE_COUNT).unwrap_or(0.0) as u64;
        for (name, aggregation) in &self.lines {
            if let Some(value) = get(*aggregation) {
                report.value(tag, Some(&layer.name), &format!("{}{}", prefix, name), value, events)?;
            }
        }
        for band in &self.bands {
            let (names, ends) = match band.as_str() {
                "std" => match (get(LOUPE_AGGREGATE_MEAN), get(LOUPE_AGGREGATE_STD)) {
                    (Some(mean), Some(deviation)) => (["-σ", "+σ"], (Some(mean - deviation), Some(mean + deviation))),
                    _ => continue,
                },
                "Q1-Q3" => (["Q1", "Q3"], (get(LOUPE_AGGREGATE_Q1), get(LOUPE_AGGREGATE_Q3))),
                _ => (["min", "max"], (get(LOUPE_AGGREGATE_MIN), get(LOUPE_AGGREGATE_MAX))),
            };
            if let (Some(low), Some(high)) = ends {
                let names = names.map(|name| format!("{}{}", prefix, name));
                report.range(tag, Some(&layer.name), [&names[0], &names[1]], [low, high])?;
            }
        }
        Ok(())
    }
}
