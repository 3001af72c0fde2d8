//! The threads that work for every copy of the facade in this process; started by the first operation.

use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    Builder::new_multi_thread()
        .worker_threads(cores.clamp(1, 4))
        .thread_name("stello-session")
        .enable_all()
        .build()
        .ok()
});

/// `None` where the system gave no threads.
pub(super) fn runtime() -> Option<&'static Runtime> {
    RUNTIME.as_ref()
}
