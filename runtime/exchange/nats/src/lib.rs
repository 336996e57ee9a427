//! What lies between campaigns, in a NATS server with JetStream: [`Nats`] is the interface
//! [`sandglass_exchange::Exchange`] spoken to it.
//!
//! The server is a relay and nothing else: it may be away, and may forget everything; whoever still has
//! what it forgot offers it again. The program `sandglass-nats` hands this to a campaign over a pipe, so
//! that bytes from the network are read in a process of their own.

mod address;
mod body;
mod layout;
mod lease;
mod link;
mod nats;
mod own;
mod peer;

pub use address::{Address, Wrong};
pub use nats::{Nats, Settings};
