//! Operations that begin on the JavaScript thread.
//!
//! A turn whose storage or adapter is JavaScript goes back and forth between both sides, and each hop to another
//! thread and back costs more than the work in between. So such an operation is polled right where JavaScript
//! starts it and where JavaScript answers it; what it asks meanwhile is the return value of that very call. When
//! something else wakes it (a socket, a timer, a database's thread), its [`Home`] says where it goes on.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Wake, Waker},
};

use super::{
    bridge::{Ask, Inner, Message},
    runtime::runtime,
};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An operation that can be polled on the JavaScript thread.
pub(super) struct Task {
    operation: u32,
    home: Home,
    bridge: Weak<Inner>,
    state: Mutex<State>,
}

/// Where an operation goes on when it is not JavaScript that wakes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// On the runtime's threads, and from then on only there: what is still to come is work for them.
    Runtime,
    /// On the JavaScript thread, which is told to come back to it: what is still to come is JavaScript's.
    JavaScript,
}

enum State {
    /// Waits to be woken.
    Idle(Work),
    /// Woken from elsewhere; the facade was told to come back to it.
    Called(Work),
    /// Woken, and about to be polled on this thread.
    Ready(Work),
    /// Being polled on this thread; `woken` meanwhile or not.
    Running { woken: bool },
    /// Ended, or moved to the runtime.
    Gone,
}

/// A call from JavaScript that is being served on this thread.
struct Call {
    bridge: Arc<Inner>,
    ready: VecDeque<Arc<Task>>,
    said: Vec<Message>,
}

thread_local! {
    static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// Serves a call from JavaScript: runs `begin`, then polls what it made ready. Answers what operations said meanwhile.
pub(super) fn serve(bridge: &Arc<Inner>, begin: impl FnOnce()) -> Vec<Message> {
    let call = Call {
        bridge: bridge.clone(),
        ready: VecDeque::new(),
        said: Vec::new(),
    };
    // JavaScript does not run while a call is served, so calls do not nest; if one did, it would go without this.
    if CALL.with_borrow_mut(|current| current.is_some()) {
        begin();
        return Vec::new();
    }
    CALL.set(Some(call));
    let served = Served;
    let _entered = runtime().map(tokio::runtime::Runtime::enter);
    begin();
    while let Some(task) = with_call(|call| call.ready.pop_front()).flatten() {
        task.poll();
    }
    served.said()
}

/// Begins an operation on this thread, within `serve`.
pub(super) fn begin(
    bridge: &Arc<Inner>,
    operation: u32,
    home: Home,
    work: impl Future<Output = ()> + Send + 'static,
) -> Arc<Task> {
    let task = Arc::new(Task {
        operation,
        home,
        bridge: Arc::downgrade(bridge),
        state: Mutex::new(State::Idle(Box::pin(work))),
    });
    task.wake_by_ref();
    task
}

/// Takes what an operation says if `bridge` is being served on this thread.
pub(super) fn say(bridge: &Inner, message: Message) -> Result<(), Message> {
    CALL.with_borrow_mut(|call| match call {
        Some(call) if std::ptr::eq(Arc::as_ptr(&call.bridge), bridge) => {
            call.said.push(message);
            Ok(())
        }
        _ => Err(message),
    })
}

/// Ends the call, even if serving it panics.
struct Served;

impl Served {
    fn said(self) -> Vec<Message> {
        let said = with_call(|call| std::mem::take(&mut call.said));
        drop(self);
        said.unwrap_or_default()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        CALL.set(None);
    }
}

fn with_call<T>(f: impl FnOnce(&mut Call) -> T) -> Option<T> {
    CALL.with_borrow_mut(|call| call.as_mut().map(f))
}

impl Task {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The facade has come back, within `serve`.
    pub(super) fn resume(self: &Arc<Self>) {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Gone) {
            State::Called(work) => {
                *state = State::Ready(work);
                drop(state);
                with_call(|call| call.ready.push_back(self.clone()));
            }
            other => *state = other,
        }
    }

    /// Tells the facade to come back; where there is no facade any more, the work ends here.
    fn call_back(&self, work: Work) {
        *self.state() = State::Called(work);
        let told = self
            .bridge
            .upgrade()
            .is_some_and(|bridge| bridge.tell(self.operation, Ask::Resume));
        if !told {
            let gone = std::mem::replace(&mut *self.state(), State::Gone);
            drop(gone);
        }
    }

    fn poll(self: Arc<Self>) {
        let work = std::mem::replace(&mut *self.state(), State::Running { woken: false });
        let State::Ready(mut work) = work else {
            *self.state() = work;
            return;
        };
        let waker = Waker::from(self.clone());
        let done = work.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Ready(());
        let mut state = self.state();
        let woken = matches!(*state, State::Running { woken: true });
        *state = if done { State::Gone } else { State::Idle(work) };
        drop(state);
        if woken && !done {
            self.wake();
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Gone) {
            State::Idle(work) => {
                if with_call(|_| ()).is_some() {
                    *state = State::Ready(work);
                    drop(state);
                    with_call(|call| call.ready.push_back(self.clone()));
                    return;
                }
                drop(state);
                match self.home {
                    Home::JavaScript => self.call_back(work),
                    Home::Runtime => {
                        runtime().map(|runtime| runtime.spawn(work));
                    }
                }
            }
            State::Running { .. } => *state = State::Running { woken: true },
            other => *state = other,
        }
    }
}
