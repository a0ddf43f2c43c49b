// loupe/abi/run.h, by generate.py
#![cfg_attr(rustfmt, rustfmt_skip)]
#[allow(unused_imports)]
use super::*;
use crate::layout::layout;
use std::os::raw::{c_char, c_void};

pub const LOUPE_RUN_ID: &[u8] = b"loupe.run/1\0";
pub const LOUPE_NOTE_TRAINER: u32 = 1;
pub const LOUPE_NOTE_QUARANTINE: u32 = 2;
pub const LOUPE_NOTE_LEARNING_RATE: u32 = 3;
pub const LOUPE_NOTE_COVERAGE: u32 = 4;
pub const LOUPE_NOTE_COST: u32 = 5;
pub const LOUPE_NOTE_GUESS: u32 = 6;
pub const LOUPE_NOTE_INCIDENT: u32 = 7;
pub const LOUPE_NOTE_RANKS: u32 = 8;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_note {
    pub struct_size: u32,
    pub kind: u32,
    pub text: *const c_char,
    pub step: u64,
    pub epoch: f64,
    pub time: f64,
}
layout!(loupe_note, 40, struct_size 0, kind 4, text 8, step 16, epoch 24, time 32);
pub const LOUPE_RUN_RESUMED: u32 = 1 << 0;
pub const LOUPE_RUN_INCIDENT: u32 = 1 << 1;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_run {
    pub struct_size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub directory: *const c_char,
    pub config: *const c_char,
    pub loupe_version: *const c_char,
    pub libtorch_version: *const c_char,
    pub started: *const c_char,
    pub start_time: f64,
    pub rank: i32,
    pub world_size: i32,
    pub train_loss: *const c_char,
    pub validation_loss: *const c_char,
}
layout!(loupe_run, 88, struct_size 0, flags 4, name 8, directory 16, config 24, loupe_version 32, libtorch_version 40, started 48, start_time 56, rank 64, world_size 68, train_loss 72, validation_loss 80);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_run_service {
    pub struct_size: u32,
    pub reserved: u32,
    pub run: Option<unsafe extern "C" fn(*mut c_void) -> *const loupe_run>,
}
layout!(loupe_run_service, 16, struct_size 0, reserved 4, run 8);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_progress {
    pub struct_size: u32,
    pub reserved: u32,
    pub epoch: f64,
    pub epochs: f64,
    pub step: u64,
    pub steps: u64,
    pub steps_before: u64,
    pub seconds: f64,
    pub lens_seconds: f64,
}
layout!(loupe_progress, 64, struct_size 0, reserved 4, epoch 8, epochs 16, step 24, steps 32, steps_before 40, seconds 48, lens_seconds 56);
pub const LOUPE_END_COMPLETED: u32 = 1;
pub const LOUPE_END_INTERRUPTED: u32 = 2;
pub const LOUPE_END_FAILED: u32 = 3;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct loupe_ending {
    pub struct_size: u32,
    pub how: u32,
    pub step: u64,
    pub epoch: f64,
    pub time: f64,
    pub elapsed: f64,
    pub message: *const c_char,
}
layout!(loupe_ending, 48, struct_size 0, how 4, step 8, epoch 16, time 24, elapsed 32, message 40);
