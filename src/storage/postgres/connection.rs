//! The pool, and one statement on one of its connections.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts,
};
use tokio::time::timeout;
use tokio_postgres::{Client, Error as Driver};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{fault, options::PostgresOptions, target::Target, tls};
use crate::error::{Error, Result};

/// Load balancers and firewalls forget idle connections without a word, the strictest known ones after 240 s and more
/// (Azure 4 min, AWS 350 s; their documentation, 2026). One that was idle for longer is replaced before it is used.
const IDLE: Duration = Duration::from_secs(200);

/// How long a cancelled statement may take to say so.
const CANCEL: Duration = Duration::from_secs(2);

/// Hands out connections; those that are closed or were idle for long are replaced.
pub(super) struct Connections {
    pool: Pool,
    connector: MakeRustlsConnect,
    limit: usize,
    connect_timeout: Duration,
    statement_timeout: Duration,
}

impl Connections {
    pub(super) fn new(target: &Target, options: &PostgresOptions) -> Result<Self> {
        let connector = tls::connector(target)?;
        let method = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(target.config.clone(), connector.clone(), method);
        let pool = Pool::builder(manager)
            .max_size(options.max_connections.max(1))
            .timeouts(Timeouts {
                wait: Some(options.connect_timeout),
                create: Some(options.connect_timeout),
                recycle: Some(options.connect_timeout),
            })
            .pre_recycle(Hook::sync_fn(|_, metrics| {
                if metrics.last_used() < IDLE {
                    Ok(())
                } else {
                    Err(HookError::message("idle for too long"))
                }
            }))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self {
            pool,
            connector,
            limit: options.max_connections.max(1),
            connect_timeout: options.connect_timeout,
            statement_timeout: options.statement_timeout,
        })
    }

    pub(super) async fn get(&self) -> Result<Connection> {
        let object = self
            .pool
            .get()
            .await
            .map_err(|error| fault::of_pool(error, self.limit, self.connect_timeout))?;
        Ok(Connection {
            object: Some(object),
            broken: AtomicBool::new(false),
            connector: self.connector.clone(),
            statement_timeout: self.statement_timeout,
        })
    }

    /// Drops what is idle: where one connection was lost, the others most likely are too, known or not yet.
    pub(super) fn forget_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    pub(super) fn close(&self) {
        self.pool.close();
    }
}

/// A connection that goes back to the pool when it is dropped, or is closed where it is of no more use.
pub(super) struct Connection {
    object: Option<Object>,
    broken: AtomicBool,
    connector: MakeRustlsConnect,
    statement_timeout: Duration,
}

impl Connection {
    pub(super) fn client(&self) -> Result<&Client> {
        let object = self.object.as_ref();
        object
            .map(|object| &***object)
            .ok_or_else(|| Error::Internal("a connection was used after its end".to_owned()))
    }

    pub(super) fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// Whether the connection was lost or it is not known what became of a statement; it is closed when it is dropped.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// A connection that is dropped before `settled` is closed.
    pub(super) fn unsettled(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    pub(super) fn settled(&self) {
        self.broken.store(false, Ordering::Relaxed);
    }

    fn failure(&self, error: Driver) -> Failure {
        if fault::is_lost(&fault::of(&error)) {
            // The driver may notice only later that it is closed.
            self.unsettled();
        }
        if fault::is_cancelled(&error) {
            Failure::Other(fault::too_slow(self.statement_timeout))
        } else {
            Failure::Driver(error)
        }
    }

    /// Waits for what a statement answers, for as long as a statement may take. The first poll is the statement's own, so
    /// whatever it sends first is sent then.
    ///
    /// A statement that takes too long is cancelled at the server and its own answer awaited, so that after a timeout it has
    /// not happened. Where no answer comes either, the connection is closed, and only the server knows.
    pub(super) async fn run<T>(
        &self,
        statement: impl Future<Output = Result<T, Driver>>,
    ) -> Result<T> {
        self.try_run(statement)
            .await
            .map_err(|failure| match failure {
                Failure::Driver(error) => fault::of(&error),
                Failure::Other(error) => error,
            })
    }

    pub(super) async fn try_run<T>(
        &self,
        statement: impl Future<Output = Result<T, Driver>>,
    ) -> Result<T, Failure> {
        let mut statement = pin!(statement);
        if let Ok(outcome) = timeout(self.statement_timeout, &mut statement).await {
            return outcome.map_err(|error| self.failure(error));
        }
        let cancel = self.client().map_err(Failure::Other)?.cancel_token();
        // Whether it could be delivered shows in the statement's own answer.
        let _ = timeout(
            CANCEL,
            Box::pin(cancel.cancel_query(self.connector.clone())),
        )
        .await;
        match timeout(CANCEL, &mut statement).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.failure(error)),
            Err(_) => {
                self.unsettled();
                Err(Failure::Other(fault::too_slow(self.statement_timeout)))
            }
        }
    }
}

/// How a statement failed: in the driver's words, which tell whether to try again, or in ours.
pub(super) enum Failure {
    Driver(Driver),
    Other(Error),
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.is_broken()
            && let Some(object) = self.object.take()
        {
            drop(Object::take(object));
        }
    }
}
