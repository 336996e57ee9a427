//! A corpus in an object store: fetched from a bucket before a campaign, pushed back after it.
//!
//! It knows nothing of guests: `sandglass cmin` decides what is worth keeping, [`sync`] moves it.

pub mod sync;

pub use sync::{Bucket, Error, Pulled, PushOptions, Pushed, Refused, pull, push};
