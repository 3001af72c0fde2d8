//! What the thread is given to do.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{
    error::{Error, Result},
    storage::{Write, limit::Deadline},
};

pub(super) type Reply<T> = oneshot::Sender<Result<T>>;
pub(super) type Work = Box<dyn FnOnce(Result<&mut Connection>) + Send>;

pub(super) enum Job {
    Read(Work),
    Write(Vec<Write>, Reply<()>),
    Begin(Reply<(u64, Deadline)>),
    /// Inside of the transaction of this number.
    Within(u64, Work),
    End {
        number: u64,
        commit: bool,
        reply: Option<Reply<()>>,
    },
    Close(Reply<()>),
}

/// Does `work`; a panic in it is its error, and the thread goes on.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::panicked(&*panic)))
}

/// What needs the right to write.
pub(super) enum Wish {
    Write(Vec<Write>, Reply<()>),
    Begin(Reply<(u64, Deadline)>),
}

impl Wish {
    pub(super) fn fail(self, error: Error) {
        match self {
            Self::Write(_, reply) => drop(reply.send(Err(error))),
            Self::Begin(reply) => drop(reply.send(Err(error))),
        }
    }
}

impl Job {
    pub(super) fn fail(self, error: Error) {
        match self {
            Self::Read(work) | Self::Within(_, work) => work(Err(error)),
            Self::Write(_, reply)
            | Self::End {
                reply: Some(reply), ..
            } => drop(reply.send(Err(error))),
            Self::Begin(reply) => drop(reply.send(Err(error))),
            Self::End { reply: None, .. } => {}
            Self::Close(reply) => drop(reply.send(Ok(()))),
        }
    }
}
