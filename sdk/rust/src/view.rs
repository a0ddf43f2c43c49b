//! What a lens is shown, borrowed for the call: modules, events, tensors.

use crate::abi::*;
use crate::boundary::{need, text_of, Failure};
use crate::layout::reaches;

/// A module as lenses see it.
#[derive(Clone, Copy)]
pub struct Module<'a>(pub(crate) &'a loupe_module);

impl Module<'_> {
    /// To show: the path within the model.
    pub fn name(&self) -> String {
        unsafe { text_of(self.0.name) }
    }
    /// "Linear".
    pub fn type_name(&self) -> String {
        unsafe { text_of(self.0.r#type) }
    }
    /// "torch::nn::LinearImpl".
    pub fn full_type(&self) -> String {
        unsafe { text_of(self.0.full_type) }
    }
    /// LOUPE_FAMILY_ACTIVATION, ….
    pub fn family(&self) -> u32 {
        self.0.family
    }
    pub fn is_loss(&self) -> bool {
        self.0.flags & LOUPE_MODULE_LOSS != 0
    }
    /// A module without children, or a function such as torch::relu.
    pub fn is_leaf(&self) -> bool {
        self.0.flags & (LOUPE_MODULE_LEAF | LOUPE_MODULE_FUNCTIONAL) != 0
    }
    pub fn has_parameter(&self, name: &str) -> bool {
        (0..self.0.parameter_count).any(|i| unsafe {
            let parameter = &**self.0.parameters.add(i);
            parameter.flags & LOUPE_PARAMETER_BUFFER == 0 && text_of(parameter.name) == name
        })
    }
    pub(crate) unsafe fn from<'a>(module: *const loupe_module) -> Result<Module<'a>, Failure> {
        need(reaches!(module, parameter_count), "a module")?;
        for i in 0..(*module).parameter_count {
            need(reaches!(*(*module).parameters.add(i), current_flags), "a module's parameter")?;
        }
        Ok(Module(&*module))
    }
}

/// One thing that happened to one stream.
#[derive(Clone, Copy)]
pub struct Event<'a>(&'a loupe_event);

impl<'a> Event<'a> {
    /// What Watch::measure asked for; the members that `measures` names.
    pub fn measurement(&self) -> Option<&'a loupe_measurement> {
        unsafe { self.0.measurement.as_ref() }
    }
    pub fn tensor(&self) -> Option<Tensor<'a>> {
        unsafe { self.0.tensor.as_ref() }.map(Tensor)
    }
    pub fn is_training(&self) -> bool {
        self.0.flags & LOUPE_EVENT_TRAINING != 0
    }
    /// Of this stream's events, from 0.
    pub fn number(&self) -> u64 {
        self.0.number
    }
    pub(crate) unsafe fn from(event: *const loupe_event) -> Result<Event<'a>, Failure> {
        need(reaches!(event, output_count), "the event")?;
        let tensor = (*event).tensor;
        need(tensor.is_null() || reaches!(tensor, stream), "a tensor")?;
        let measurement = (*event).measurement;
        need(measurement.is_null() || reaches!(measurement, bin_count), "a measurement")?;
        Ok(Event(&*event))
    }
}

/// A tensor, read-only.
#[derive(Clone, Copy)]
pub struct Tensor<'a>(pub &'a loupe_tensor);

impl Tensor<'_> {
    pub fn sizes(&self) -> &[i64] {
        if self.0.dim <= 0 {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.0.sizes, self.0.dim as usize) }
    }
    pub fn count(&self) -> i64 {
        self.0.numel
    }
    /// In the processor's memory, with elements that are numbers or booleans, none of them complex.
    pub fn is_readable(&self) -> bool {
        let is_known = match self.0.dtype_code as u32 {
            LOUPE_DTYPE_FLOAT => matches!(self.0.dtype_bits, 16 | 32 | 64),
            LOUPE_DTYPE_BFLOAT => self.0.dtype_bits == 16,
            LOUPE_DTYPE_INT => matches!(self.0.dtype_bits, 8 | 16 | 32 | 64),
            LOUPE_DTYPE_UINT | LOUPE_DTYPE_BOOL => self.0.dtype_bits == 8,
            _ => false,
        };
        let is_here = self.0.device_type == LOUPE_DEVICE_CPU && !self.0.data.is_null();
        is_known && is_here && self.0.dtype_lanes == 1 && self.0.numel > 0
    }
    /// The element at an index for each dimension. Panics outside of the tensor, and unless is_readable().
    pub fn at(&self, index: &[i64]) -> f64 {
        assert!(self.is_readable(), "a tensor is read that is_readable() says cannot be");
        let sizes = self.sizes();
        assert!(
            index.len() == sizes.len() && index.iter().zip(sizes).all(|(i, size)| (0..*size).contains(i)),
            "the index {:?} lies outside of a tensor of {:?}",
            index,
            sizes
        );
        unsafe {
            let offset: i64 = index.iter().enumerate().map(|(d, i)| i * *self.0.strides.add(d)).sum();
            let (data, at) = (self.0.data, offset as isize);
            match (self.0.dtype_code as u32, self.0.dtype_bits) {
                (LOUPE_DTYPE_FLOAT, 32) => (data as *const f32).offset(at).read_unaligned() as f64,
                (LOUPE_DTYPE_FLOAT, 64) => (data as *const f64).offset(at).read_unaligned(),
                (LOUPE_DTYPE_FLOAT, _) => half((data as *const u16).offset(at).read_unaligned()),
                (LOUPE_DTYPE_BFLOAT, _) => {
                    f32::from_bits(((data as *const u16).offset(at).read_unaligned() as u32) << 16) as f64
                }
                (LOUPE_DTYPE_INT, 64) => (data as *const i64).offset(at).read_unaligned() as f64,
                (LOUPE_DTYPE_INT, 32) => (data as *const i32).offset(at).read_unaligned() as f64,
                (LOUPE_DTYPE_INT, 16) => (data as *const i16).offset(at).read_unaligned() as f64,
                (LOUPE_DTYPE_INT, _) => *(data as *const i8).offset(at) as f64,
                _ => *(data as *const u8).offset(at) as f64,
            }
        }
    }
}

/// The value of a float16, which Rust has no type for.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
    match exponent {
        31 if fraction != 0.0 => f64::NAN,
        31 => sign * f64::INFINITY,
        0 => sign * fraction * 2f64.powi(-24),
        _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::raw::c_void;

    /// The element at row 1, column 0 of a matrix of two rows that was transposed.
    fn second<T>(code: u32, bits: u8, elements: &[T; 4]) -> f64 {
        let (sizes, strides) = ([2i64, 2], [1i64, 2]);
        let mut tensor: loupe_tensor = unsafe { std::mem::zeroed() };
        tensor.dtype_code = code as _;
        tensor.dtype_bits = bits as _;
        tensor.dtype_lanes = 1;
        tensor.device_type = LOUPE_DEVICE_CPU as _;
        tensor.data = elements.as_ptr() as *mut c_void as _;
        tensor.sizes = sizes.as_ptr();
        tensor.strides = strides.as_ptr();
        tensor.dim = 2;
        tensor.numel = 4;
        assert!(Tensor(&tensor).is_readable());
        Tensor(&tensor).at(&[1, 0])
    }

    #[test]
    fn elements_of_every_type_are_numbers() {
        assert_eq!(second(LOUPE_DTYPE_FLOAT, 32, &[0f32, -1.5, 0., 0.]), -1.5);
        assert_eq!(second(LOUPE_DTYPE_FLOAT, 64, &[0f64, -1.5, 0., 0.]), -1.5);
        assert_eq!(second(LOUPE_DTYPE_BFLOAT, 16, &[0u16, 0xbfc0, 0, 0]), -1.5);
        assert_eq!(second(LOUPE_DTYPE_FLOAT, 16, &[0u16, 0xbe00, 0, 0]), -1.5);
        assert_eq!(second(LOUPE_DTYPE_INT, 64, &[0i64, -3, 0, 0]), -3.0);
        assert_eq!(second(LOUPE_DTYPE_INT, 32, &[0i32, -3, 0, 0]), -3.0);
        assert_eq!(second(LOUPE_DTYPE_INT, 16, &[0i16, -3, 0, 0]), -3.0);
        assert_eq!(second(LOUPE_DTYPE_INT, 8, &[0i8, -3, 0, 0]), -3.0);
        assert_eq!(second(LOUPE_DTYPE_UINT, 8, &[0u8, 200, 0, 0]), 200.0);
        assert_eq!(second(LOUPE_DTYPE_BOOL, 8, &[0u8, 1, 0, 0]), 1.0);
    }
    #[test]
    fn a_half_is_read_at_its_ends_too() {
        assert_eq!(half(0x0001), 2f64.powi(-24));
        assert_eq!(half(0x03ff), 1023.0 * 2f64.powi(-24));
        assert_eq!(half(0x7bff), 65504.0);
        assert_eq!(half(0xfc00), f64::NEG_INFINITY);
        assert!(half(0x7e00).is_nan());
    }
}
