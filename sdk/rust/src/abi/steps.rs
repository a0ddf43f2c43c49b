// loupe/abi/steps.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char};

pub const LOUPE_GROUP_NESTEROV: u32 = 1 << 0;
pub const LOUPE_GROUP_AMSGRAD: u32 = 1 << 1;
pub const LOUPE_GROUP_CENTERED: u32 = 1 << 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_parameter_group {
    pub struct_size: u32,
    pub flags: u32,
    pub learning_rate: f64,
    pub momentum: f64,
    pub weight_decay: f64,
    pub tensor_count: u64,
    pub element_count: i64,
    pub unknown_tensor_count: u64,
    pub unknown_element_count: i64,
    pub second_momentum: f64,
    pub epsilon: f64,
    pub dampening: f64,
}
layout!(loupe_parameter_group, 88, struct_size 0, flags 4, learning_rate 8, momentum 16, weight_decay 24, tensor_count 32, element_count 40, unknown_tensor_count 48, unknown_element_count 56, second_momentum 64, epsilon 72, dampening 80);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_optimizer {
    pub struct_size: u32,
    pub reserved: u32,
    pub id: u64,
    pub model: *const c_char,
    pub r#type: *const c_char,
    pub groups: *const *const loupe_parameter_group,
    pub group_count: usize,
}
layout!(loupe_optimizer, 48, struct_size 0, reserved 4, id 8, model 16, r#type 24, groups 32, group_count 40);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_step {
    pub struct_size: u32,
    pub reserved: u32,
    pub number: u64,
    pub epoch: f64,
    pub epochs: f64,
    pub time: f64,
    pub elapsed: f64,
    pub optimizer: *const loupe_optimizer,
}
layout!(loupe_step, 56, struct_size 0, reserved 4, number 8, epoch 16, epochs 24, time 32, elapsed 40, optimizer 48);
pub const LOUPE_TICK_EPOCH: u32 = 1;
pub const LOUPE_TICK_STEPS: u32 = 2;
pub const LOUPE_TICK_SECONDS: u32 = 3;
pub const LOUPE_TICK_END: u32 = 4;
pub const LOUPE_TICK_INCOMPLETE: u32 = 1 << 0;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_tick {
    pub struct_size: u32,
    pub reason: u32,
    pub flags: u32,
    pub reserved: u32,
    pub number: u64,
    pub epoch: f64,
    pub step: u64,
    pub time: f64,
    pub elapsed: f64,
    pub optimizers: *const *const loupe_optimizer,
    pub optimizer_count: usize,
}
layout!(loupe_tick, 72, struct_size 0, reason 4, flags 8, reserved 12, number 16, epoch 24, step 32, time 40, elapsed 48, optimizers 56, optimizer_count 64);
