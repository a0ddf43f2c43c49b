//! Lenses for Loupe in Rust: a thin layer over [`abi`], which is what the C headers declare, made of them at each build.
//! A lens is a type that implements [`Lens`], in a crate of the type `cdylib` that [`plugin!`] closes:
//! examples/rust_lens is a whole one. What the layer has no word for is done with `abi` itself.
//!
//! It keeps every rule that `loupe check` holds plugins to: no struct is read beyond its size, a panic becomes a message,
//! and an event allocates nothing.

#[allow(non_camel_case_types, clippy::all)]
pub mod abi {
    include!(concat!(env!("OUT_DIR"), "/abi.rs"));
}
mod boundary;
mod lens;
#[doc(hidden)]
pub mod plugin;
mod report;
mod view;

pub use boundary::{copied, guarded, Failure, Result, Struct};
pub use lens::{Gatherer, Lens, Source, Wiring};
pub use plugin::{DeclaredOption, Options};
pub use report::Report;
pub use view::{Event, Module, Tensor};
