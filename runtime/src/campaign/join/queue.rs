//! A queue between two threads that is bounded by count and by bytes, and never makes anybody wait to push.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// See the file.
pub(super) struct Queue<T> {
    inner: Mutex<Inner<T>>,
    pushed: Condvar,
    items_most: usize,
    bytes_most: usize,
}

struct Inner<T> {
    items: VecDeque<(T, usize)>,
    bytes: usize,
}

impl<T> Queue<T> {
    pub(super) fn new(items_most: usize, bytes_most: usize) -> Queue<T> {
        Queue {
            inner: Mutex::new(Inner {
                items: VecDeque::new(),
                bytes: 0,
            }),
            pushed: Condvar::new(),
            items_most,
            bytes_most,
        }
    }

    /// Appends what has so many bytes; gives it back if there is no room. What is alone always fits.
    pub(super) fn push(&self, item: T, bytes: usize) -> Result<(), T> {
        let mut inner = self.lock();
        let is_full = inner.items.len() >= self.items_most || inner.bytes + bytes > self.bytes_most;
        if is_full && !inner.items.is_empty() {
            return Err(item);
        }
        inner.bytes += bytes;
        inner.items.push_back((item, bytes));
        drop(inner);
        self.pushed.notify_one();
        Ok(())
    }

    /// How many more there is room for, if they are small.
    pub(super) fn room(&self) -> usize {
        self.items_most.saturating_sub(self.lock().items.len())
    }

    /// The first.
    pub(super) fn pop(&self) -> Option<T> {
        let mut inner = self.lock();
        let (item, bytes) = inner.items.pop_front()?;
        inner.bytes -= bytes;
        Some(item)
    }

    /// Waits until there is something, or it has been long enough; not at all if `is_over`. Whoever makes that
    /// true calls [`Queue::wake`] afterwards.
    pub(super) fn wait(&self, timeout: Duration, is_over: impl Fn() -> bool) {
        let inner = self.lock();
        if inner.items.is_empty() && !is_over() {
            let _ = self.pushed.wait_timeout(inner, timeout);
        }
    }

    /// Ends a wait.
    pub(super) fn wake(&self) {
        // Nobody is between its question and its wait then.
        drop(self.lock());
        self.pushed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_by_count_and_by_bytes() {
        let queue = Queue::new(2, 10);
        assert_eq!(queue.push('a', 100), Ok(()), "alone");
        assert_eq!(queue.push('b', 0), Err('b'));
        assert_eq!(queue.pop(), Some('a'));
        assert_eq!(queue.room(), 2);
        assert_eq!([queue.push('c', 5), queue.push('d', 5)], [Ok(()), Ok(())]);
        assert_eq!(queue.room(), 0);
        assert_eq!(queue.push('e', 0), Err('e'));
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some('c'), Some('d'), None]
        );
    }
}
