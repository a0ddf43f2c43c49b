//! The numbers of one epoch.

use crate::abi::*;

/// NaN and Inf are counted and never averaged.
#[derive(Default)]
pub(crate) struct Series {
    /// Every finite one, where quantiles are asked for.
    values: Option<Vec<f64>>,
    count: u64,
    mean: f64,
    squares: f64,
    minimum: f64,
    maximum: f64,
    last: f64,
    nan_count: u64,
    inf_count: u64,
}

impl Series {
    pub fn new(keeps_values: bool) -> Self {
        Series { values: if keeps_values { Some(Vec::new()) } else { None }, ..Series::default() }
    }
    pub fn push(&mut self, value: f64) {
        self.last = value;
        if value.is_nan() {
            self.nan_count += 1;
            return;
        }
        if value.is_infinite() {
            self.inf_count += 1;
            return;
        }
        let is_first = self.count == 0;
        self.count += 1;
        let delta = value - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (value - self.mean);
        self.minimum = if is_first { value } else { self.minimum.min(value) };
        self.maximum = if is_first { value } else { self.maximum.max(value) };
        if let Some(values) = &mut self.values {
            values.push(value);
        }
    }
    pub fn is_empty(&self) -> bool {
        self.count + self.nan_count + self.inf_count == 0
    }
    /// The number that a LOUPE_AGGREGATE_ names; NaN where there is nothing to make it of, none where it is not kept.
    pub fn aggregate(&self, aggregation: u32) -> Option<f64> {
        let of_some = |value: f64| Some(if self.count > 0 { value } else { f64::NAN });
        match aggregation {
            LOUPE_AGGREGATE_MEAN => of_some(self.mean),
            LOUPE_AGGREGATE_MIN => of_some(self.minimum),
            LOUPE_AGGREGATE_MAX => of_some(self.maximum),
            LOUPE_AGGREGATE_STD => of_some((self.squares / self.count as f64).sqrt()),
            LOUPE_AGGREGATE_SUM => Some(self.mean * self.count as f64),
            LOUPE_AGGREGATE_LAST => Some(if self.is_empty() { f64::NAN } else { self.last }),
            LOUPE_AGGREGATE_COUNT => Some(self.count as f64),
            LOUPE_AGGREGATE_NAN_COUNT => Some(self.nan_count as f64),
            LOUPE_AGGREGATE_INF_COUNT => Some(self.inf_count as f64),
            LOUPE_AGGREGATE_MEDIAN => self.quantile(0.5),
            LOUPE_AGGREGATE_Q1 => self.quantile(0.25),
            LOUPE_AGGREGATE_Q3 => self.quantile(0.75),
            LOUPE_AGGREGATE_IQR => Some(self.quantile(0.75)? - self.quantile(0.25)?),
            _ => None,
        }
    }
    fn quantile(&self, share: f64) -> Option<f64> {
        let mut sorted = self.values.clone()?;
        if sorted.is_empty() {
            return Some(f64::NAN);
        }
        sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let position = share * (sorted.len() - 1) as f64;
        let below = position as usize;
        let above = sorted[(below + 1).min(sorted.len() - 1)];
        Some(sorted[below] + (position - below as f64) * (above - sorted[below]))
    }
    /// Forgets the numbers and keeps the memory.
    pub fn reset(&mut self) {
        let values = self.values.take().map(|mut values| {
            values.clear();
            values
        });
        *self = Series { values, ..Series::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let mut series = Series::new(true);
        assert!(series.is_empty());
        for value in [1.0, f64::NAN, 4.0, f64::INFINITY, 7.0] {
            series.push(value);
        }
        assert_eq!(series.aggregate(LOUPE_AGGREGATE_MEAN), Some(4.0));
        assert_eq!(series.aggregate(LOUPE_AGGREGATE_MEDIAN), Some(4.0));
        assert_eq!(series.aggregate(LOUPE_AGGREGATE_IQR), Some(3.0));
        assert_eq!(series.aggregate(LOUPE_AGGREGATE_STD), Some(6f64.sqrt()));
        assert_eq!(series.aggregate(LOUPE_AGGREGATE_NAN_COUNT), Some(1.0));
        assert_eq!(series.aggregate(LOUPE_AGGREGATE_INF_COUNT), Some(1.0));
        series.reset();
        assert!(series.is_empty());
        assert!(series.aggregate(LOUPE_AGGREGATE_MEAN).unwrap().is_nan());
    }
    #[test]
    fn quantiles_are_kept_where_they_are_asked_for() {
        assert_eq!(Series::new(false).aggregate(LOUPE_AGGREGATE_Q1), None);
    }
}
