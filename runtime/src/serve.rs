//! A web page of campaigns while they run, for who sits at this machine: `sandglass serve`.
//!
//! ```text
//! DIR… ──▶ watch (little by little) ──▶ joined ──▶ json, page ──▶ http ──▶ browser
//! where campaigns meet ──▶ meeting ──▶
//! ```
//!
//! Read-only in every sense: no lock is taken, no file written, no guest run, and only GET and HEAD
//! are answered. What is asked for is a key to something known, never part of a path. What is shown is escaped and bounded,
//! and pages load nothing from anywhere else. Nobody is asked who they are: see [`http::Reach`].

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;

use crate::error::with_next;
use http::{Reach, Request, Response};
use joined::Joined;

pub mod http;
pub mod joined;
pub mod json;
pub mod meeting;
mod page;
mod route;
pub mod series;
pub mod watch;

/// Connections at once: a browser opens six.
const CONNECTIONS_MAX: usize = 32;

/// Campaigns that are served together.
pub const CAMPAIGNS_MAX: usize = 64;

/// Pause after a connection that could not be taken: no file descriptors, most likely.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that has an address and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What all connections see.
#[derive(Debug)]
struct Shared {
    reach: Reach,
    joined: Mutex<Joined>,
    /// Held while a page is made that reads a whole campaign: one at a time.
    report: Mutex<()>,
    connections: AtomicUsize,
}

impl Server {
    /// Of these folders, and of what meets at a place, at that address; port 0 is one that is free. Errs if a folder is
    /// no campaign's, nobody can meet at the place, or the address cannot be had.
    pub fn bind(
        folders: &[PathBuf],
        place: Option<crate::join::Place>,
        address: SocketAddr,
        reach: Reach,
    ) -> Result<Server> {
        let joined = Joined::open(folders, place)?;
        let failed = |e: std::io::Error| {
            with_next(
                format!("--listen {address}: {}", crate::error::reason(&e)),
                "the same command with --listen 127.0.0.1:0, for a port that is free",
            )
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        Ok(Server {
            address: listener.local_addr().map_err(failed)?,
            listener,
            shared: Arc::new(Shared {
                reach,
                joined: Mutex::new(joined),
                report: Mutex::new(()),
                connections: AtomicUsize::new(0),
            }),
        })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers for ever.
    pub fn run(self) -> ! {
        loop {
            let Ok((stream, _)) = self.listener.accept() else {
                std::thread::sleep(PAUSE);
                continue;
            };
            let Some(place) = Place::take(&self.shared) else {
                http::turn_away(stream);
                continue;
            };
            // A thread that cannot be had is a connection that is closed.
            let _ = std::thread::Builder::new().spawn(move || {
                let shared = &place.0;
                http::serve(stream, shared.reach, |request| shared.answer(request));
            });
        }
    }
}

/// A connection's place among those that may be open at once.
struct Place(Arc<Shared>);

impl Place {
    fn take(shared: &Arc<Shared>) -> Option<Place> {
        let place = Place(Arc::clone(shared));
        let before = shared.connections.fetch_add(1, Ordering::Relaxed);
        // Dropped, it gives back what it took.
        (before < CONNECTIONS_MAX).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn answer(&self, request: &Request) -> Response {
        // Whoever panicked here left something that the next look puts right.
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        joined.look();
        let found = route::route(&joined, &request.path);
        drop(joined);
        match found {
            route::Found::Response(response) => response,
            route::Found::Report(report) => match self.report.try_lock() {
                Ok(_held) => report.make(),
                Err(_) => Response::refusal(503, "another report is being made, try again"),
            },
        }
    }
}
