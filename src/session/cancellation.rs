//! The caller's signal, as Rust sees it.

use tokio_util::sync::CancellationToken;

/// Ends what it was given to, once. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(CancellationToken);

impl Cancellation {
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Runs `work` unless or until it is cancelled; then `work` is dropped where it stands.
    pub async fn guard<T>(
        &self,
        work: impl Future<Output = crate::error::Result<T>>,
    ) -> crate::error::Result<T> {
        tokio::select! {
            biased;
            () = self.0.cancelled() => Err(crate::error::Error::Aborted),
            outcome = work => outcome,
        }
    }
}
