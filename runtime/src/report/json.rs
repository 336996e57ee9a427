//! One JSON object a line, every event; the last line is the summary.

use super::{Reporter, Sink};
use crate::event::Event;

/// Between two pulses; programs that read us draw charts, not films.
const PULSE_MS: u64 = 1_000;

/// The reporter behind `--json`.
pub struct Json {
    sink: Sink,
}

impl Json {
    /// Reports into a sink.
    pub fn new(sink: Sink) -> Json {
        Json { sink }
    }
}

impl Reporter for Json {
    fn report(&mut self, event: &Event) {
        self.sink.line(&event.to_json());
    }

    fn pulse_interval_ms(&self) -> u64 {
        PULSE_MS
    }
}
