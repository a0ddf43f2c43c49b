// loupe/abi/events.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char};

pub const LOUPE_TAP_FORWARD_BEFORE: u32 = 1;
pub const LOUPE_TAP_FORWARD: u32 = 2;
pub const LOUPE_TAP_OUTPUT_GRADIENT: u32 = 3;
pub const LOUPE_TAP_INPUT_GRADIENT: u32 = 4;
pub const LOUPE_TAP_PARAMETER_GRADIENT: u32 = 5;
pub const LOUPE_TAP_STEP_GRADIENT: u32 = 6;
pub const LOUPE_TAP_OPTIMIZER_STEP: u32 = 7;
pub const LOUPE_TAP_TICK: u32 = 8;
pub const LOUPE_TAP_PUSH: u32 = 9;
pub const LOUPE_TAP_DRAFTS: u32 = 0x80;
pub const LOUPE_EVENT_TRAINING: u32 = 1 << 0;
pub const LOUPE_EVENT_GRAD_ENABLED: u32 = 1 << 1;
pub const LOUPE_EVENT_DEFERRED: u32 = 1 << 2;
pub const LOUPE_EVENT_LOSS: u32 = 1 << 3;
pub const LOUPE_EVENT_MEMORY: u32 = 1 << 4;
pub const LOUPE_EVENT_NOT_CLEARED: u32 = 1 << 5;
pub const LOUPE_EVENT_DROPS: u32 = 1 << 6;
pub const LOUPE_MEASURE_SUMS: u32 = 1 << 0;
pub const LOUPE_MEASURE_EXTREMES: u32 = 1 << 1;
pub const LOUPE_MEASURE_ACTIVITY: u32 = 1 << 2;
pub const LOUPE_MEASURE_SAMPLES: u32 = 1 << 3;
pub const LOUPE_MEASURE_PREVIOUS: u32 = 1 << 4;
pub const LOUPE_MEASURE_CHANGE: u32 = 1 << 5;
pub const LOUPE_MEASURE_CHANGE_PREVIOUS: u32 = 1 << 6;
pub const LOUPE_MEASURE_HISTOGRAM: u32 = 1 << 7;
pub const LOUPE_PASS_TRAINING: u32 = 1;
pub const LOUPE_PASS_EVALUATION: u32 = 2;
pub const LOUPE_PASS_BOTH: u32 = 3;
pub const LOUPE_PLACE_CPU: u32 = 1;
pub const LOUPE_PLACE_DEVICE: u32 = 2;
pub const LOUPE_PLACE_BOTH: u32 = 3;
pub const LOUPE_REQUEST_TENSORS: u32 = 1 << 0;
pub const LOUPE_REQUEST_PASS_BY_GRADIENT: u32 = 1 << 1;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_request {
    pub struct_size: u32,
    pub flags: u32,
    pub measures: u32,
    pub passes: u32,
    pub places: u32,
    pub unit_dimension: i32,
    pub epsilon: f64,
}
layout!(loupe_request, 32, struct_size 0, flags 4, measures 8, passes 12, places 16, unit_dimension 20, epsilon 24);
pub const LOUPE_MEASURED_SAMPLE: u32 = 1 << 0;
pub const LOUPE_MEASURED_PREVIOUS: u32 = 1 << 1;
pub const LOUPE_MEASURED_CHANGE: u32 = 1 << 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_measurement {
    pub struct_size: u32,
    pub measures: u32,
    pub flags: u32,
    pub reserved: u32,
    pub numel: i64,
    pub compared: i64,
    pub nan_count: i64,
    pub inf_count: i64,
    pub sum: f64,
    pub sum_squares: f64,
    pub minimum: f64,
    pub maximum: f64,
    pub active_count: i64,
    pub unit_count: i64,
    pub dead_units: i64,
    pub sample_count: i64,
    pub sample_norm_sum: f64,
    pub dot_previous: f64,
    pub previous_sum_squares: f64,
    pub change_sum_squares: f64,
    pub dot_change: f64,
    pub previous_change_sum_squares: f64,
    pub bins: *const u64,
    pub bin_edges: *const f64,
    pub bin_count: usize,
}
layout!(loupe_measurement, 184, struct_size 0, measures 4, flags 8, reserved 12, numel 16, compared 24, nan_count 32, inf_count 40, sum 48, sum_squares 56, minimum 64, maximum 72, active_count 80, unit_count 88, dead_units 96, sample_count 104, sample_norm_sum 112, dot_previous 120, previous_sum_squares 128, change_sum_squares 136, dot_change 144, previous_change_sum_squares 152, bins 160, bin_edges 168, bin_count 176);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_event {
    pub struct_size: u32,
    pub tap: u32,
    pub flags: u32,
    pub index: u32,
    pub module: *const loupe_module,
    pub label: *const c_char,
    pub number: u64,
    pub step: u64,
    pub tensor: *const loupe_tensor,
    pub measurement: *const loupe_measurement,
    pub scalar: f64,
    pub inputs: *const *const loupe_tensor,
    pub input_count: usize,
    pub outputs: *const *const loupe_tensor,
    pub output_count: usize,
}
layout!(loupe_event, 104, struct_size 0, tap 4, flags 8, index 12, module 16, label 24, number 32, step 40, tensor 48, measurement 56, scalar 64, inputs 72, input_count 80, outputs 88, output_count 96);
