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
    bindgen_prelude::{Array, FnArgs, Function, Null, ToNapiValue, Unknown},
    sys,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;
use tokio::{runtime::Runtime, sync::oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    fault,
    pieces::Pieces,
    runtime::runtime,
    task::{self, Home, Task},
    text::ToJs,
};
use crate::{
    error::{Error, Result},
    plant,
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
    /// Come back to the operation with `resume`.
    Resume = 11,
}

/// What an operation says to the facade.
pub(super) struct Message {
    operation: u32,
    question: u32,
    ask: Ask,
    payload: ToJs,
}

/// Messages that need no dispatcher, because the facade is waiting for them: `[operation, question, ask, payload, …]`,
/// or `null` for none.
pub struct Said(Vec<Message>);

impl Said {
    pub(super) fn nothing() -> Self {
        Self(Vec::new())
    }
}

impl ToNapiValue for Said {
    unsafe fn to_napi_value(env: sys::napi_env, said: Self) -> napi::Result<sys::napi_value> {
        if said.0.is_empty() {
            // SAFETY: `env` is the caller's.
            return unsafe { Null::to_napi_value(env, Null) };
        }
        let length = u32::try_from(said.0.len() * 4).unwrap_or(u32::MAX);
        let owner = Env::from_raw(env);
        let mut array = owner.create_array(length)?;
        for (message, at) in said.0.into_iter().zip((0..).step_by(4)) {
            array.set(at, message.operation)?;
            array.set(at + 1, message.question)?;
            array.set(at + 2, message.ask as u32)?;
            array.set(at + 3, message.payload)?;
        }
        // SAFETY: `env` is the caller's.
        unsafe { Array::to_napi_value(env, array) }
    }
}

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
    /// The operations that the facade may be told to come back to.
    tasks: Mutex<HashMap<u32, Arc<Task>>>,
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
                let Message {
                    operation,
                    question,
                    ask,
                    payload,
                } = context.value;
                Ok(FnArgs::from((operation, question, ask as u32, payload)))
            })?;
        Ok(Self {
            inner: Arc::new(Inner {
                dispatcher,
                questions: Mutex::default(),
                next_question: AtomicU32::new(1),
                operations: Mutex::default(),
                streams: Mutex::default(),
                tasks: Mutex::default(),
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

    /// The facade comes back to an operation, as [`Ask::Resume`] asked it to.
    #[napi(catch_unwind)]
    pub fn resume(&self, operation: u32) -> Said {
        let task = lock(&self.inner.tasks).get(&operation).cloned();
        Said(task::serve(&self.inner, || {
            if let Some(task) = task {
                task.resume();
            }
        }))
    }

    /// A question could not be answered: something threw. The facade keeps what was thrown.
    #[napi(catch_unwind)]
    pub fn fail(&self, question: u32) -> Said {
        self.inner.answer_here(question, None)
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
    /// Runs `work` to its end on the runtime's threads and tells the facade the outcome; a panic in it becomes a fault.
    pub(super) fn run(
        self: &Arc<Self>,
        operation: u32,
        cancellation: Cancellation,
        work: impl Future<Output = Result<String>> + Send + 'static,
    ) {
        if let Some(runtime) = self.begin(operation, cancellation) {
            runtime.spawn(self.clone().told(operation, work));
        }
    }

    /// The same, begun on the JavaScript thread (see [`task`]). Answers what it says until it has to wait.
    pub(super) fn run_here(
        self: &Arc<Self>,
        operation: u32,
        cancellation: Cancellation,
        home: Home,
        work: impl Future<Output = Result<String>> + Send + 'static,
    ) -> Said {
        let Some(_) = self.begin(operation, cancellation) else {
            return Said::nothing();
        };
        let work = self.clone().told(operation, work);
        Said(task::serve(self, || {
            let task = task::begin(self, operation, home, work);
            if home == Home::JavaScript {
                lock(&self.tasks).insert(operation, task);
            }
        }))
    }

    fn begin(&self, operation: u32, cancellation: Cancellation) -> Option<&'static Runtime> {
        lock(&self.operations).insert(operation, cancellation);
        let runtime = runtime();
        if runtime.is_none() {
            let error = Error::Internal("no thread could be started".to_owned());
            self.end(operation, Err(error));
        }
        runtime
    }

    async fn told(
        self: Arc<Self>,
        operation: u32,
        work: impl Future<Output = Result<String>> + Send + 'static,
    ) {
        let outcome = tokio::select! {
            biased;
            outcome = caught(work) => outcome,
            () = self.closed.cancelled() => return,
        };
        self.end(operation, outcome);
    }

    fn end(&self, operation: u32, outcome: Result<String>) {
        lock(&self.operations).remove(&operation);
        lock(&self.tasks).remove(&operation);
        let _ = match outcome {
            Ok(result) => self.send(operation, 0, Ask::Done, result.into()),
            Err(error) => self.send(operation, 0, Ask::Failed, fault::to_json(&error).into()),
        };
    }

    pub(super) fn open_stream(&self, operation: u32) -> Arc<Pieces> {
        lock(&self.streams).entry(operation).or_default().clone()
    }

    /// Says something that needs no answer. Whether there is anybody to hear it.
    pub(super) fn tell(&self, operation: u32, ask: Ask) -> bool {
        self.send(operation, 0, ask, ToJs::Null).is_ok()
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

    /// Answers a question and goes on with its operation here and now.
    pub(super) fn answer_here(self: &Arc<Self>, question: u32, answer: Answer) -> Said {
        Said(task::serve(self, || self.answer(question, answer)))
    }

    /// Answers a question; its operation goes on when it gets to it.
    pub(super) fn answer(&self, question: u32, answer: Answer) {
        plant::panic_at("bridge.answer");
        let asker = lock(&self.questions).remove(&question);
        if let Some(asker) = asker {
            // Nobody waits for an answer that comes after an abort.
            let _ = asker.send(answer);
        }
    }

    fn send(&self, operation: u32, question: u32, ask: Ask, payload: ToJs) -> Result<()> {
        let message = Message {
            operation,
            question,
            ask,
            payload,
        };
        let Err(message) = task::say(self, message) else {
            return Ok(());
        };
        let mode = ThreadsafeFunctionCallMode::NonBlocking;
        match self.dispatcher.call(message, mode) {
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

/// `work`, whose panic is an error like any other.
pub(super) async fn caught(work: impl Future<Output = Result<String>>) -> Result<String> {
    let outcome = AssertUnwindSafe(work).catch_unwind().await;
    outcome.unwrap_or_else(|panic| Err(Error::panicked(&*panic)))
}
