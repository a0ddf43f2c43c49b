//! The objects that a lens gets, borrowed for the call: modules, events, tensors.

use crate::abi::*;
use crate::boundary::{copied, text_of, there, Result};
use std::marker::PhantomData;

/// A module as lenses see it.
pub struct Module {
    pub(crate) place: *const loupe_module,
    pub abi: loupe_module,
}
impl Module {
    pub(crate) unsafe fn from(place: *const loupe_module) -> Result<Module> {
        Ok(Module { place, abi: there(copied(place))? })
    }
    /// The path within the model, to show.
    pub fn name(&self) -> String {
        unsafe { text_of(self.abi.name) }
    }
    /// The name of its type: "Linear".
    pub fn type_name(&self) -> String {
        unsafe { text_of(self.abi.r#type) }
    }
    /// The names of its own parameters and buffers.
    pub fn parameters(&self) -> Vec<String> {
        let own = (0..self.abi.parameter_count).filter_map(|i| unsafe { copied(*self.abi.parameters.add(i)) });
        own.map(|parameter| unsafe { text_of(parameter.name) }).collect()
    }
}

/// One event of one stream.
#[non_exhaustive]
pub struct Event {
    pub abi: loupe_event,
}
impl Event {
    /// The requested measurements; only the members that `measures` names are valid.
    pub fn measurement(&self) -> Option<loupe_measurement> {
        unsafe { copied(self.abi.measurement) }
    }
    pub fn tensor(&self) -> Option<Tensor<'_>> {
        unsafe { copied(self.abi.tensor) }.map(|abi| Tensor { abi, borrowed: PhantomData })
    }
}

/// A tensor, read-only.
pub struct Tensor<'a> {
    abi: loupe_tensor,
    borrowed: PhantomData<&'a loupe_tensor>,
}

impl Tensor<'_> {
    pub fn sizes(&self) -> &[i64] {
        if self.abi.dim <= 0 {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.abi.sizes, self.abi.dim as usize) }
    }
    /// Whether it is in the processor's memory, not empty, and of a type that at() reads: float32, float64, bfloat16,
    /// int32, int64, uint8, bool.
    pub fn is_readable(&self) -> bool {
        let is_known = match (self.abi.dtype_code as u32, self.abi.dtype_bits) {
            (LOUPE_DTYPE_FLOAT | LOUPE_DTYPE_INT, bits) => bits == 32 || bits == 64,
            (LOUPE_DTYPE_BFLOAT, bits) => bits == 16,
            (LOUPE_DTYPE_UINT | LOUPE_DTYPE_BOOL, bits) => bits == 8,
            _ => false,
        };
        let is_here = self.abi.device_type == LOUPE_DEVICE_CPU && !self.abi.data.is_null();
        is_known && is_here && self.abi.dtype_lanes == 1 && self.abi.numel > 0
    }
    /// The element at an index for each dimension. Panics outside of the tensor, or if is_readable() is false.
    pub fn at(&self, index: &[i64]) -> f64 {
        let sizes = self.sizes();
        let is_within = index.len() == sizes.len() && index.iter().zip(sizes).all(|(i, size)| (0..*size).contains(i));
        assert!(is_within, "the index {:?} is outside a tensor of {:?}", index, sizes);
        assert!(self.is_readable(), "this tensor cannot be read: check is_readable() first");
        unsafe fn read<T>(data: *const std::os::raw::c_void, offset: i64) -> T {
            (data as *const T).offset(offset as isize).read_unaligned()
        }
        unsafe {
            let at: i64 = index.iter().enumerate().map(|(d, i)| i * *self.abi.strides.add(d)).sum();
            let data = self.abi.data;
            match (self.abi.dtype_code as u32, self.abi.dtype_bits) {
                (LOUPE_DTYPE_FLOAT, 32) => read::<f32>(data, at) as f64,
                (LOUPE_DTYPE_FLOAT, _) => read(data, at),
                (LOUPE_DTYPE_BFLOAT, _) => f32::from_bits((read::<u16>(data, at) as u32) << 16) as f64,
                (LOUPE_DTYPE_INT, 64) => read::<i64>(data, at) as f64,
                (LOUPE_DTYPE_INT, _) => read::<i32>(data, at) as f64,
                _ => read::<u8>(data, at) as f64,
            }
        }
    }
}
