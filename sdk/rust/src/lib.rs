//! Components for Loupe in Rust: a thin layer over [`abi`], which is what the C headers declare, made of them at each
//! build. A lens is a type that implements [`Lens`], in a crate of the type `cdylib` that [`plugin!`] closes, and so are a
//! [`Gatherer`], a [`Preprocessor`] and a [`Visualizer`]: examples/rust_lens has one of each. What the layer has no word
//! for is done with `abi` itself.
//!
//! It keeps every rule that `loupe check` holds plugins to: no struct is read beyond its size, a panic becomes a message,
//! and an event allocates nothing.

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
