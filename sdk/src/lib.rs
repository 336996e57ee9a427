//! What a guest's author links: draws, spans, verdicts and entry points over the contract in [`sandglass_abi`].
//!
//! A **target** is handed an input; a panic in it is a finding. Whole, as a `cdylib` for `wasm32-unknown-unknown`:
//!
//! ```no_run,standalone_crate
//! sandglass_sdk::target!(|input: &[u8]| core::str::from_utf8(input)); // Ok is a valid input, Err a rejected one
//! ```
//!
//! A **generator** draws, and what it returns becomes the target's input:
//!
//! ```no_run,standalone_crate
//! use sandglass_sdk::{Depth, generator, one_of, structure, value};
//!
//! fn sum(depth: Depth) -> String {
//!     let Some(depth) = depth.down() else { return value!().int(0..=99).to_string() };
//!     one_of!(structure!();
//!         3 => value!().int(0..=99).to_string(),
//!         1 => format!("({} {} {})", sum(depth), value!().word(&["+", "-", "*"]), sum(depth)))
//! }
//!
//! generator!(|| sum(Depth::of(5)));
//! ```
//!
//! A **property** draws and checks in one module:
//!
//! ```no_run,standalone_crate
//! use sandglass_sdk::{assume, property, structure, value};
//!
//! property!(|| {
//!     let list: Vec<u8> = structure!().vec(0..=20, |_| value!().int(..));
//!     assume(!list.is_empty()); // else the trial is invalid, not a finding
//!     let mut sorted = list.clone();
//!     sorted.sort();
//!     assert_eq!(sorted.first(), list.iter().min());
//! });
//! ```
//!
//! A **dataflow program** joins, groups and filters data sets of text rows; see [`flow`]:
//!
//! ```no_run,standalone_crate
//! use sandglass_sdk::{dataflow, flow::{Sets, fault, int}};
//!
//! dataflow!(|sets: &Sets| {
//!     let customers = sets.cells(0).map(|cells| (cells[0], cells[1]));
//!     let orders = sets.cells(1).map(|cells| (cells[1], int(cells[2])));
//!     for (_, (name, total)) in customers.join(orders).collect() {
//!         if name.is_empty() && total > 1000 {
//!             fault("1.1");
//!         }
//!     }
//! });
//! ```
//!
//! # Sites and roles
//!
//! Everything is drawn at a [`Site`]: [`structure!`], [`value!`] or [`site!`], followed by what to draw. The macro
//! gives the place in the source a number that does not change between builds, by which a guidance knows the draw
//! again. Its name is the draw's *role*: a draw is structure when what is drawn later depends on it (which
//! production, how many children), a value when nothing does (which name, which number). Nobody has to say: at a
//! `site!` the engine learns the role.
//!
//! # Testing a generator
//!
//! Outside of wasm, draws are answered by [`native::run`] from a seed or a record, so a generator is an ordinary
//! function in `cargo test`.
//!
//! This crate makes no decision of its own: what is drawn is decided by the host. It needs no allocator without
//! the feature `alloc`, and never `std` in wasm.
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(not(target_family = "wasm"))]
extern crate std;

#[cfg(feature = "arbitrary")]
mod adapter;
mod choose;
mod collect;
mod depth;
mod draw;
#[doc(hidden)]
pub mod entry;
mod float;
#[cfg(feature = "alloc")]
pub mod flow;
mod generate;
#[cfg(all(feature = "alloc", target_family = "wasm"))]
mod heap;
#[cfg(not(target_family = "wasm"))]
pub mod native;
#[cfg(not(target_family = "wasm"))]
pub mod regressions;
mod site;
mod span;
#[cfg_attr(
    target_family = "wasm",
    expect(unsafe_code, reason = "two imports are handed addresses")
)]
mod sys;
#[cfg(test)]
mod testing;
mod text;
mod trial;

pub use collect::Repeat;
pub use depth::Depth;
pub use draw::Int;
pub use entry::{Emit, Verdict};
pub use generate::Generate;
pub use sandglass_abi::{ABI_VERSION, INVALID, VALID};
#[cfg(feature = "derive")]
pub use sandglass_derive::Generate;
pub use site::{Role, Site};
pub use span::{Label, Span};
pub use text::Alphabet;
pub use trial::{assume, emit, note, reject, stage};
