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
    /// In the processor's memory, with elements of float32, float64 or bfloat16.
    pub fn is_readable(&self) -> bool {
        let kind = (self.0.dtype_code as u32, self.0.dtype_bits);
        let is_known = matches!(kind, (LOUPE_DTYPE_FLOAT, 32) | (LOUPE_DTYPE_FLOAT, 64) | (LOUPE_DTYPE_BFLOAT, 16));
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
            match (self.0.dtype_code as u32, self.0.dtype_bits) {
                (LOUPE_DTYPE_FLOAT, 32) => *(self.0.data as *const f32).offset(offset as isize) as f64,
                (LOUPE_DTYPE_FLOAT, 64) => *(self.0.data as *const f64).offset(offset as isize),
                _ => f32::from_bits((*(self.0.data as *const u16).offset(offset as isize) as u32) << 16) as f64,
            }
        }
    }
}
