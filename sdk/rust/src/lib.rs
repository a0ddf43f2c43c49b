//! Lenses for Loupe in Rust. This is a whole one, in a crate of the type `cdylib`:
//!
//! ```no_run
//! use loupe::{abi::*, Each, Failure, LayerLens, Module, Options};
//!
//! struct LargestOutput;
//! impl LayerLens for LargestOutput {
//!     const NAME: &'static str = "largest_output";
//!     const HELP: &'static str = "the largest element of each output";
//!     fn new(_: &Options) -> Result<Self, Failure> {
//!         Ok(LargestOutput)
//!     }
//!     fn visit(&self, _: &Module, each: &mut Each) {
//!         each.each("forward", LOUPE_MEASURE_EXTREMES, |event| Some(event.measurement()?.maximum));
//!     }
//! }
//! loupe::plugin!("largest_output", "1.0", LargestOutput);
//! # fn main() {}
//! ```
//!
//! It keeps every rule that `loupe check` holds plugins to: structs of another size are refused and never read too far,
//! a panic becomes a message, and an event allocates nothing once its series is there.

#[allow(non_camel_case_types, clippy::all)]
pub mod abi;
pub mod boundary;
mod filter;
mod layer_lens;
mod layout;
mod options;
pub mod plugin;
mod report;
mod rule;
mod series;
mod stream;
mod view;

pub use boundary::Failure;
pub use layer_lens::{Each, Layer, LayerLens};
pub use options::{DeclaredOption, Options};
pub use report::{Finding, Report};
pub use rule::{Rule, Seen};
pub use stream::Numbers;
pub use view::{Event, Module, Tensor};
