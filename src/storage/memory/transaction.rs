//! One writer at a time, and what it does until it commits.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    runtime::Handle,
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
    time::timeout_at,
};

use super::{Shared, State, impl_store};
use crate::{
    error::{Error, Result, StorageCode, StorageError},
    message::Message,
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    storage::{CompressionCache, ListRecords, Store, Transaction, Write, check, limit::Deadline},
    text::{Json, Text},
};

/// The right to write. It ends the transaction that holds it when that one is past its time and somebody waits.
#[derive(Debug)]
pub(super) struct Gate {
    writer: Arc<AsyncMutex<()>>,
    open: Mutex<Option<(Deadline, Arc<Mutex<Draft>>)>>,
    limit: Duration,
}

pub(super) type Turn = OwnedMutexGuard<()>;

/// What a transaction will install.
#[derive(Debug)]
enum Draft {
    /// The turn is given back when the draft goes.
    Open(State, #[expect(dead_code, reason = "held, not read")] Turn),
    Expired(Deadline),
    Ended,
}

impl Gate {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            writer: Arc::default(),
            open: Mutex::default(),
            limit,
        }
    }

    pub(super) async fn enter(&self) -> Turn {
        let mut turn = pin!(self.writer.clone().lock_owned());
        // The first poll may come from outside of a runtime, where there is no timer. It takes the place in the line.
        let mut polled = false;
        let early = poll_fn(|cx| match turn.as_mut().poll(cx) {
            Poll::Ready(turn) => Poll::Ready(Some(turn)),
            Poll::Pending if polled || Handle::try_current().is_ok() => Poll::Ready(None),
            Poll::Pending => {
                polled = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        });
        if let Some(turn) = early.await {
            return turn;
        }
        if Handle::try_current().is_err() {
            return turn.await;
        }
        loop {
            let open = guard(&self.open).clone();
            // Between two transactions nobody is past any time; look again soon after the next one has begun.
            let deadline = open
                .as_ref()
                .map_or_else(|| Deadline::after(self.limit), |(deadline, _)| *deadline);
            if let Ok(turn) = timeout_at(deadline.at(), &mut turn).await {
                return turn;
            }
            if let Some((deadline, draft)) = open {
                self.forget(&draft);
                let mut draft = guard(&draft);
                if matches!(*draft, Draft::Open(..)) {
                    *draft = Draft::Expired(deadline);
                }
            }
        }
    }

    /// Ends the transaction that is open, so that those who wait learn that the storage was closed.
    pub(super) fn end(&self) {
        let open = guard(&self.open).take();
        if let Some((_, draft)) = open {
            *guard(&draft) = Draft::Ended;
        }
    }

    /// Another transaction may have begun since `draft` lost its turn.
    fn forget(&self, draft: &Arc<Mutex<Draft>>) {
        drop(guard(&self.open).take_if(|(_, open)| Arc::ptr_eq(open, draft)));
    }
}

/// A copy of the state, written to freely and installed whole.
#[derive(Debug)]
pub(super) struct MemoryTransaction {
    shared: Arc<Shared>,
    draft: Arc<Mutex<Draft>>,
    deadline: Deadline,
    /// Ids of the sessions whose lists are joined after the commit.
    appended: Mutex<Vec<Text>>,
}

impl MemoryTransaction {
    pub(super) fn open(shared: Arc<Shared>, turn: Turn, state: State) -> Self {
        let deadline = Deadline::after(shared.gate.limit);
        let draft = Arc::new(Mutex::new(Draft::Open(state, turn)));
        *guard(&shared.gate.open) = Some((deadline, draft.clone()));
        Self {
            shared,
            draft,
            deadline,
            appended: Mutex::default(),
        }
    }

    /// Runs `how` while nobody can end the transaction.
    fn change<T>(&self, how: impl FnOnce(&mut State) -> T) -> Result<T> {
        self.shared.read(|_| ())?;
        let mut draft = guard(&self.draft);
        if self.deadline.passed() && matches!(*draft, Draft::Open(..)) {
            *draft = Draft::Expired(self.deadline);
        }
        match &mut *draft {
            Draft::Open(state, _) => Ok(how(state)),
            Draft::Expired(deadline) => Err(deadline.error()),
            Draft::Ended => Err(Error::Storage(StorageError::new(
                StorageCode::Transaction,
                "the transaction has ended",
            ))),
        }
    }

    fn read<T>(&self, how: impl FnOnce(&State) -> T) -> Result<T> {
        self.change(|state| how(state))
    }

    #[expect(clippy::unused_async, reason = "the shape that `impl_store` asks for")]
    async fn write(&self, writes: Vec<Write>) -> Result<()> {
        check::writes(&writes)?;
        for write in &writes {
            if let Write::AppendRecord { id, .. } = write {
                let mut appended = guard(&self.appended);
                if appended.last() != Some(id) {
                    appended.push(id.clone());
                }
            }
        }
        self.change(|state| state.apply(writes))
    }
}

impl_store!(MemoryTransaction);

#[async_trait]
impl Transaction for MemoryTransaction {
    fn deadline(&self) -> Deadline {
        self.deadline
    }

    async fn commit(self: Box<Self>) -> Result<()> {
        self.change(|state| {
            self.shared.change(|current| {
                *current = std::mem::take(state);
                current.join_in_place(&guard(&self.appended));
            })
        })?
    }

    async fn rollback(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Drop for MemoryTransaction {
    fn drop(&mut self) {
        self.shared.gate.forget(&self.draft);
        *guard(&self.draft) = Draft::Ended;
    }
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
