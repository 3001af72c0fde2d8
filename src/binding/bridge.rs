//! The dispatcher: questions to JavaScript, their answers, and the operations that ask them.

#![expect(
    unsafe_code,
    reason = "napi deprecates its safe way to refer a function, which also needs exclusive access"
)]

use std::{
    any::Any,
    collections::HashMap,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use futures_util::FutureExt;
use napi::{
    Env, Status,
    bindgen_prelude::{FnArgs, Function, Unknown},
    sys,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{fault, pieces::Pieces, runtime::runtime, text::ToJs};
use crate::{
    error::{Error, Result},
    session::Cancellation,
};

/// What a message of the dispatcher asks for. The numbers are repeated in `src/js/dispatch.cjs`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask {
    /// The operation succeeded; the payload is its result.
    Done = 0,
    /// The operation failed; the payload is a fault.
    Failed = 1,
    /// There are pieces of a stream to take.
    Pieces = 2,
    /// The turn's place has come: what is the state now?
    State = 3,
    /// Call a storage method: `[method, ...arguments]`.
    Storage = 4,
    /// Apply writes in one transaction: `[[method, ...arguments], …]`.
    Apply = 5,
    /// Read everything of a turn.
    Load = 6,
    /// The contents of loaded records: `[start, end]`.
    Contents = 7,
    /// Call the adapter with a prompt.
    Generate = 8,
    /// Call `compressFn` with a prompt.
    Compress = 9,
    /// Call the function of the operation (consolidate, integrate, fork context) with arguments.
    Function = 10,
}

type Message = (u32, u32, Ask, ToJs);
type Arguments = FnArgs<(u32, u32, u32, ToJs)>;
type Dispatcher = ThreadsafeFunction<Message, Unknown<'static>, Arguments, Status, false, true>;

/// An answer; each kind of question has its own type, checked where the question was asked.
type Answer = Option<Box<dyn Any + Send>>;

pub(super) struct Inner {
    dispatcher: Dispatcher,
    questions: Mutex<HashMap<u32, oneshot::Sender<Answer>>>,
    next_question: AtomicU32,
    operations: Mutex<HashMap<u32, Cancellation>>,
    streams: Mutex<HashMap<u32, Arc<Pieces>>>,
    /// Cancelled when the facade goes: its environment ends, or it was collected.
    closed: CancellationToken,
}

/// One per loaded facade.
#[napi]
pub struct Bridge {
    inner: Arc<Inner>,
}

#[napi]
impl Bridge {
    /// `dispatch(operation, question, ask, payload)` must not throw.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        #[napi(
            ts_arg_type = "(operation: number, question: number, ask: number, payload: string | null) => void"
        )]
        dispatch: Function<'_, Arguments, Unknown<'static>>,
    ) -> napi::Result<Self> {
        let dispatcher = dispatch
            .build_threadsafe_function::<Message>()
            .weak::<true>()
            .callee_handled::<false>()
            .build_callback(|context| {
                let (operation, question, ask, payload) = context.value;
                Ok(FnArgs::from((operation, question, ask as u32, payload)))
            })?;
        Ok(Self {
            inner: Arc::new(Inner {
                dispatcher,
                questions: Mutex::default(),
                next_question: AtomicU32::new(1),
                operations: Mutex::default(),
                streams: Mutex::default(),
                closed: CancellationToken::new(),
            }),
        })
    }

    /// Keeps the process alive until `release`.
    #[napi(catch_unwind)]
    pub fn hold(&self, env: Env) {
        // SAFETY: called on the thread of `env`, which made the function; it lives as long as `self`.
        unsafe { sys::napi_ref_threadsafe_function(env.raw(), self.inner.dispatcher.raw()) };
    }

    #[napi(catch_unwind)]
    pub fn release(&self, env: Env) {
        // SAFETY: see `hold`.
        unsafe { sys::napi_unref_threadsafe_function(env.raw(), self.inner.dispatcher.raw()) };
    }

    /// The signal of an operation was aborted. Without effect once its turn is being stored.
    #[napi(catch_unwind)]
    pub fn cancel(&self, operation: u32) {
        let cancellation = lock(&self.inner.operations).get(&operation).cloned();
        if let Some(cancellation) = cancellation {
            cancellation.cancel();
        }
    }

    /// The pieces of a stream that came since the last time, as a JSON array; `null` for none.
    #[napi(catch_unwind)]
    pub fn take(&self, operation: u32) -> ToJs {
        let pieces = lock(&self.inner.streams)
            .get(&operation)
            .and_then(|pieces| pieces.take());
        pieces.map_or(ToJs::Null, ToJs::from)
    }

    /// A stream has been read to its end.
    #[napi(catch_unwind)]
    pub fn close_stream(&self, operation: u32) {
        lock(&self.inner.streams).remove(&operation);
    }

    /// A question could not be answered: something threw. The facade keeps what was thrown.
    #[napi(catch_unwind)]
    pub fn fail(&self, question: u32) {
        self.inner.answer(question, None);
    }
}

impl Bridge {
    pub(super) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.inner.closed.cancel();
    }
}

impl Inner {
    /// Runs `work` to its end and tells the facade the outcome; a panic in it becomes a fault.
    pub(super) fn run(
        self: &Arc<Self>,
        operation: u32,
        cancellation: Cancellation,
        work: impl Future<Output = Result<String>> + Send + 'static,
    ) {
        lock(&self.operations).insert(operation, cancellation);
        let Some(runtime) = runtime() else {
            let error = Error::Internal("no thread could be started".to_owned());
            return self.end(operation, Err(error));
        };
        let inner = self.clone();
        runtime.spawn(async move {
            let work = AssertUnwindSafe(work).catch_unwind();
            let outcome = tokio::select! {
                outcome = work => outcome.unwrap_or_else(|panic| Err(panicked(&*panic))),
                () = inner.closed.cancelled() => return,
            };
            inner.end(operation, outcome);
        });
    }

    fn end(&self, operation: u32, outcome: Result<String>) {
        lock(&self.operations).remove(&operation);
        let _ = match outcome {
            Ok(result) => self.send(operation, 0, Ask::Done, result.into()),
            Err(error) => self.send(operation, 0, Ask::Failed, fault::to_json(&error).into()),
        };
    }

    pub(super) fn open_stream(&self, operation: u32) -> Arc<Pieces> {
        lock(&self.streams).entry(operation).or_default().clone()
    }

    /// Says something that needs no answer.
    pub(super) fn tell(&self, operation: u32, ask: Ask) {
        let _ = self.send(operation, 0, ask, ToJs::Null);
    }

    /// Asks the facade and waits for its answer. Dropping the future forgets the question.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        operation: u32,
        ask: Ask,
        payload: impl Into<ToJs>,
    ) -> Result<T> {
        let question = Question {
            inner: self,
            number: self.next_question.fetch_add(1, Ordering::Relaxed),
        };
        let (sender, receiver) = oneshot::channel();
        lock(&self.questions).insert(question.number, sender);
        self.send(operation, question.number, ask, payload.into())?;
        match receiver.await {
            Ok(Some(answer)) => answer
                .downcast()
                .map(|answer| *answer)
                .map_err(|_| Error::Internal(format!("{ask:?} was answered with the wrong type"))),
            Ok(None) => Err(Error::Thrown(question.number)),
            Err(_) => Err(Error::Aborted),
        }
    }

    pub(super) fn answer(&self, question: u32, answer: Answer) {
        let asker = lock(&self.questions).remove(&question);
        if let Some(asker) = asker {
            // Nobody waits for an answer that comes after an abort.
            let _ = asker.send(answer);
        }
    }

    fn send(&self, operation: u32, question: u32, ask: Ask, payload: ToJs) -> Result<()> {
        let message = (operation, question, ask, payload);
        match self
            .dispatcher
            .call(message, ThreadsafeFunctionCallMode::NonBlocking)
        {
            Status::Ok => Ok(()),
            _ => Err(Error::Aborted),
        }
    }
}

struct Question<'a> {
    inner: &'a Inner,
    number: u32,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        lock(&self.inner.questions).remove(&self.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    Error::Internal(text.unwrap_or_else(|| "a panic without a message".to_owned()))
}
