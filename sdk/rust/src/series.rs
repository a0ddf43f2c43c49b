//! A series: numbers of one kind, folded over an epoch.

use crate::abi::*;
use crate::boundary::c_text;
use std::ffi::CString;

/// A series of a preprocessor: folds the numbers that are pushed to it until the tick.
pub struct Series {
    pub(crate) numbers: loupe_series,
    /// Owns the text that `numbers` points to.
    _name: CString,
    /// The sum of the squared distances from the mean.
    squares: f64,
}
// The pointer in `numbers` points only to the series's own name.
unsafe impl Send for Series {}

impl Series {
    pub(crate) fn new(name: &str) -> Self {
        let name = c_text(name);
        let numbers = loupe_series { name: name.as_ptr(), ..loupe_series::EMPTY };
        Series { numbers, _name: name, squares: 0.0 }
    }
    pub fn push(&mut self, value: f64) {
        let numbers = &mut self.numbers;
        numbers.last = value;
        if !value.is_finite() {
            numbers.nan_count += value.is_nan() as u64;
            numbers.inf_count += value.is_infinite() as u64;
            return;
        }
        numbers.minimum = if numbers.count == 0 { value } else { numbers.minimum.min(value) };
        numbers.maximum = if numbers.count == 0 { value } else { numbers.maximum.max(value) };
        numbers.count += 1;
        numbers.sum += value;
        let distance = value - numbers.mean;
        numbers.mean += distance / numbers.count as f64;
        self.squares += distance * (value - numbers.mean);
        numbers.standard_deviation = (self.squares / numbers.count as f64).sqrt();
    }
    pub(crate) fn reset(&mut self) {
        self.numbers = loupe_series { name: self.numbers.name, ..loupe_series::EMPTY };
        self.squares = 0.0;
    }

    /// The size of a saved state.
    pub(crate) const BYTES: usize = 9 * 8;
    pub(crate) fn save(&self) -> [u8; Series::BYTES] {
        let n = &self.numbers;
        let counts = [n.count, n.nan_count, n.inf_count];
        let numbers = [n.sum, n.mean, self.squares, n.minimum, n.maximum, n.last].map(f64::to_bits);
        let mut bytes = [0; Series::BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(counts.iter().chain(&numbers)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
    /// Adds the numbers of a saved state, as if they had been pushed after these.
    pub(crate) fn merge(&mut self, bytes: &[u8]) {
        let word = |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().unwrap());
        let number = |i: usize| f64::from_bits(word(i));
        let (count, numbers) = (word(0), &mut self.numbers);
        if count + word(1) + word(2) > 0 {
            numbers.last = number(8);
        }
        numbers.nan_count += word(1);
        numbers.inf_count += word(2);
        if count == 0 {
            return;
        }
        let is_first = numbers.count == 0;
        numbers.minimum = if is_first { number(6) } else { numbers.minimum.min(number(6)) };
        numbers.maximum = if is_first { number(7) } else { numbers.maximum.max(number(7)) };
        let (own, both) = (numbers.count as f64, (numbers.count + count) as f64);
        let distance = number(4) - numbers.mean;
        self.squares += number(5) + distance * distance * own * count as f64 / both;
        numbers.mean += distance * count as f64 / both;
        numbers.count += count;
        numbers.sum += number(3);
        numbers.standard_deviation = (self.squares / both).sqrt();
    }
}
