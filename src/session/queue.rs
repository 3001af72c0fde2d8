//! Turns of one session run one at a time, in the order they were asked for.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::oneshot;

#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    busy: bool,
    waiting: VecDeque<oneshot::Sender<Turnstile>>,
}

/// The right to run. Dropping it lets the next one in, however the turn ended.
#[derive(Debug)]
pub struct Turnstile {
    /// `None` once the right was handed back.
    queue: Option<Arc<Queue>>,
}

/// A place in the queue, taken when it was made. Dropping it leaves the queue.
#[derive(Debug)]
pub enum Place {
    First(Turnstile),
    Behind(oneshot::Receiver<Turnstile>),
}

impl Queue {
    /// Takes the next place. Not async: the order is that of the calls, not of the first polls.
    pub fn enter(self: &Arc<Self>) -> Place {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.busy {
            let (sender, receiver) = oneshot::channel();
            state.waiting.push_back(sender);
            Place::Behind(receiver)
        } else {
            state.busy = true;
            Place::First(Turnstile {
                queue: Some(self.clone()),
            })
        }
    }

    fn next(self: &Arc<Self>) {
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(waiter) = state.waiting.pop_front() else {
                state.busy = false;
                return;
            };
            drop(state);
            match waiter.send(Turnstile {
                queue: Some(self.clone()),
            }) {
                Ok(()) => return,
                // It gave up waiting; its turnstile comes back unused and must not let in a second one.
                Err(mut unused) => unused.queue = None,
            }
        }
    }
}

impl Drop for Turnstile {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.next();
        }
    }
}

impl Place {
    /// Waits for the turn; says whether it had to.
    pub async fn reach(self) -> (Turnstile, bool) {
        match self {
            Self::First(turnstile) => (turnstile, false),
            Self::Behind(receiver) => match receiver.await {
                Ok(turnstile) => (turnstile, true),
                // The queue never drops a sender without sending; waiting on is the only safe answer if it did.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn turns_run_one_at_a_time_in_call_order_and_leavers_are_passed_over() {
        let queue = Arc::new(Queue::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let inside = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for n in 0..20 {
            let place = queue.enter();
            if n % 5 == 3 {
                drop(place);
                continue;
            }
            let (order, inside) = (order.clone(), inside.clone());
            tasks.push(tokio::spawn(async move {
                let (_turnstile, waited) = place.reach().await;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                order.lock().unwrap().push(n);
                assert_eq!(waited, n != 0);
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let expected: Vec<_> = (0..20).filter(|n| n % 5 != 3).collect();
        assert_eq!(*order.lock().unwrap(), expected);
        assert!(matches!(queue.enter(), Place::First(_)));
    }

    #[test]
    fn a_queue_is_freed_with_its_last_place() {
        let queue = Arc::new(Queue::default());
        let weak = Arc::downgrade(&queue);
        let first = queue.enter();
        let gone = queue.enter();
        let waiting = queue.enter();
        drop((gone, first, waiting, queue));
        assert!(weak.upgrade().is_none());
    }
}
