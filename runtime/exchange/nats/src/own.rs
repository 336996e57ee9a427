//! What we stored ourselves: it need not be asked for again when the stream is read.
//!
//! In: messages that the server acknowledged, with their numbers. Out: the same, for a number. Numbers are of one stream: when
//! it is another, all of them are forgotten. The oldest are, too, when there are too many: then the server is asked.

use std::collections::VecDeque;

/// Messages that are remembered, and their bytes: what is stored between two looks.
const MESSAGES_MOST: usize = 1024;
const BYTES_MOST: usize = 8 << 20;

/// See the module.
#[derive(Default)]
pub(crate) struct Own {
    /// When the stream was made.
    created: u64,
    /// Number, name and payload, by number.
    messages: VecDeque<(u64, String, Vec<u8>)>,
    bytes: usize,
}

impl Own {
    /// Remembers what was stored last.
    pub(crate) fn add(&mut self, sequence: u64, name: &str, payload: Vec<u8>) {
        self.bytes += payload.len();
        // Acknowledgements of several at once come in any order.
        let at = self
            .messages
            .partition_point(|message| message.0 < sequence);
        self.messages
            .insert(at, (sequence, name.to_owned(), payload));
        while self.messages.len() > MESSAGES_MOST || self.bytes > BYTES_MOST {
            let Some((_, _, payload)) = self.messages.pop_front() else {
                break;
            };
            self.bytes -= payload.len();
        }
    }

    /// The name and the payload of that number, if it is ours. It is forgotten: streams are read once, forwards.
    pub(crate) fn take(&mut self, sequence: u64) -> Option<(String, Vec<u8>)> {
        let found = self
            .messages
            .binary_search_by_key(&sequence, |message| message.0);
        let (_, name, payload) = self.messages.remove(found.ok()?)?;
        self.bytes -= payload.len();
        Some((name, payload))
    }

    /// Says which stream it is now; whether it is the same as before.
    pub(crate) fn is_of(&mut self, created: u64) -> bool {
        let is_same = self.created == created;
        if !is_same {
            *self = Own {
                created,
                ..Own::default()
            };
        }
        is_same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_there_once_and_in_one_stream_only() {
        let mut own = Own::default();
        assert!(!own.is_of(7));
        own.add(4, "b", vec![2]);
        own.add(3, "a", vec![1]);
        assert!(own.is_of(7));
        assert_eq!(own.take(3), Some(("a".to_owned(), vec![1])));
        assert_eq!((own.take(3), own.take(5)), (None, None));
        assert!(!own.is_of(8));
        assert_eq!((own.take(4), own.bytes), (None, 0));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut own = Own::default();
        own.add(1, "a", vec![0; BYTES_MOST]);
        own.add(2, "b", vec![0; 1]);
        assert_eq!((own.take(1), own.bytes), (None, 1));
        (10..10 + MESSAGES_MOST as u64).for_each(|n| own.add(n, "c", vec![]));
        assert_eq!(own.take(2), None);
        assert!(own.take(10).is_some());
    }
}
