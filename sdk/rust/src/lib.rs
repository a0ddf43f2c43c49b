//! Components for Loupe in Rust: a thin layer over [`abi`], which contains the declarations of the C headers and is
//! generated at each build. A lens is a type that implements [`Lens`], in a crate of the type `cdylib` that [`plugin!`]
//! exports; a [`Gatherer`], a [`Preprocessor`] and a [`Visualizer`] are similar. examples/rust_lens has one of each. For
//! functions that the layer lacks, use `abi` directly.
//!
//! The layer follows every rule that `loupe check` tests: it reads no struct beyond its size, turns a panic into a message,
//! and allocates nothing in an event.

#[allow(non_camel_case_types, clippy::all)]
pub mod abi {
    include!(concat!(env!("OUT_DIR"), "/abi.rs"));
}
mod boundary;
#[doc(hidden)]
#[macro_use]
pub mod plugin;
mod gatherer;
mod lens;
mod preprocessor;
mod report;
mod series;
mod view;
mod visualizer;

pub use boundary::{copied, guarded, Failure, Result, Struct};
pub use gatherer::{Gatherer, Taps};
pub use lens::{Gathered, Lens, Source, Wiring};
pub use plugin::{DeclaredOption, Options};
pub use preprocessor::Preprocessor;
pub use report::Report;
pub use series::Series;
pub use view::{Event, Module, Tensor};
pub use visualizer::{Told, Visualizer};
