//! Native storages as JavaScript objects, and the handle that every storage has.

use std::sync::Arc;

use futures_util::FutureExt;
use napi::Either;
use napi_derive::napi;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{
    bridge::{Bridge, caught},
    fault,
    js_store::json,
    open_storage,
    runtime::runtime,
    text::{FromJs, ToJs},
};
use crate::{
    context::budget,
    error::{Error, Result, StorageCode, StorageError},
    message::Message,
    meta::SessionFilter,
    session::{Cancellation, Registry},
    storage::{ListRecords, Storage, Store, Transaction, Write},
    text::Text,
};

/// One storage object: which sessions of it are open, and the native storage itself if it is one.
#[napi]
pub struct StorageHandle {
    pub(super) registry: Arc<Registry>,
    pub(super) native: Option<Arc<dyn Storage>>,
}

#[napi]
impl StorageHandle {
    /// For a storage that is written in JavaScript.
    #[napi(factory, catch_unwind)]
    pub fn javascript() -> Self {
        Self {
            registry: Arc::default(),
            native: None,
        }
    }

    /// A native storage; `kind` is `memory`, `sqlite` or `postgres`, `options` JSON that the facade has checked.
    /// Nothing is opened before its first use. Answers a fault, as JSON, where the options cannot be used.
    #[napi(
        catch_unwind,
        ts_args_type = "kind: string, options: string",
        ts_return_type = "StorageHandle | string"
    )]
    pub fn open(kind: String, options: FromJs) -> Either<StorageHandle, ToJs> {
        match open_storage::open(&kind, &options.into_json()) {
            Ok(storage) => Either::A(Self {
                registry: Arc::default(),
                native: Some(storage),
            }),
            Err(error) => Either::B(fault::to_json(&error).into()),
        }
    }
}

/// An open transaction of a native storage. Dropping it rolls it back.
#[napi]
#[derive(Default)]
pub struct TransactionHandle {
    open: Slot,
}

type Slot = Arc<tokio::sync::Mutex<Option<Box<dyn Transaction>>>>;

#[napi]
impl TransactionHandle {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }
}

#[napi]
impl Bridge {
    /// Calls a method of a native storage. Answers at once where nothing has to be waited for, else `null`, and
    /// the operation ends through the dispatcher. `arguments` is a JSON array.
    #[napi(catch_unwind)]
    pub fn storage_call(
        &self,
        operation: u32,
        storage: &StorageHandle,
        method: String,
        arguments: FromJs,
    ) -> napi::Result<ToJs> {
        let native = native(storage)?;
        let work = async move { call(&*native, &method, &arguments.into_json()).await };
        let mut work = caught(work).boxed();
        // Memory is ready on the first poll, unless a transaction is open. Others may need the runtime in theirs.
        let _entered = runtime().map(tokio::runtime::Runtime::enter);
        let waker = std::task::Waker::noop();
        match work.poll_unpin(&mut std::task::Context::from_waker(waker)) {
            std::task::Poll::Ready(Ok(result)) => Ok(result.into()),
            std::task::Poll::Ready(Err(error)) => {
                self.inner().run(
                    operation,
                    Cancellation::default(),
                    async move { Err(error) },
                );
                Ok(ToJs::Null)
            }
            std::task::Poll::Pending => {
                self.inner().run(operation, Cancellation::default(), work);
                Ok(ToJs::Null)
            }
        }
    }

    /// Resolves to how many milliseconds the transaction may stay open.
    #[napi(catch_unwind)]
    pub fn storage_begin(
        &self,
        operation: u32,
        storage: &StorageHandle,
        transaction: &TransactionHandle,
    ) -> napi::Result<()> {
        let (native, slot) = (native(storage)?, transaction.open.clone());
        self.inner()
            .run(operation, Cancellation::default(), async move {
                let transaction = native.begin().await?;
                let limit_ms = transaction.deadline().limit().as_millis();
                *slot.lock().await = Some(transaction);
                Ok(limit_ms.to_string())
            });
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn transaction_call(
        &self,
        operation: u32,
        transaction: &TransactionHandle,
        method: String,
        arguments: FromJs,
    ) {
        let slot = transaction.open.clone();
        self.inner()
            .run(operation, Cancellation::default(), async move {
                let open = slot.lock().await;
                call_open(open.as_deref(), &method, &arguments.into_json()).await
            });
    }

    #[napi(catch_unwind)]
    pub fn transaction_end(&self, operation: u32, transaction: &TransactionHandle, commit: bool) {
        let slot = transaction.open.clone();
        self.inner()
            .run(operation, Cancellation::default(), async move {
                let open = slot.lock().await.take().ok_or_else(ended)?;
                if commit {
                    open.commit().await?;
                } else {
                    open.rollback().await?;
                }
                Ok("null".to_owned())
            });
    }

    #[napi(catch_unwind)]
    pub fn storage_close(&self, operation: u32, storage: &StorageHandle) -> napi::Result<()> {
        let native = native(storage)?;
        self.inner()
            .run(operation, Cancellation::default(), async move {
                native.close().await?;
                Ok("null".to_owned())
            });
        Ok(())
    }
}

fn native(storage: &StorageHandle) -> napi::Result<Arc<dyn Storage>> {
    storage
        .native
        .clone()
        .ok_or_else(|| napi::Error::from_reason("not a native storage"))
}

async fn call_open(
    open: Option<&dyn Transaction>,
    method: &str,
    arguments: &str,
) -> Result<String> {
    match open {
        Some(open) => call(open, method, arguments).await,
        None => Err(ended()),
    }
}

fn ended() -> Error {
    StorageError::new(StorageCode::Transaction, "the transaction has ended").into()
}

/// The method of the public interface, by its name; arguments and result as JSON.
async fn call<S: Store + ?Sized>(store: &S, method: &str, arguments: &str) -> Result<String> {
    let arguments = Arguments::read(method, arguments)?;
    let id = || arguments.get::<Text>(0);
    let content = || arguments.get::<Text>(1);
    Ok(match method {
        "getSession" => json(&store.get_session(&id()?).await?),
        "listSessions" => json(
            &store
                .list_sessions(&arguments.optional::<SessionFilter>(0)?)
                .await?,
        ),
        "listRecords" => {
            let options = arguments.optional::<ListRecords>(1)?;
            records(&store.list_records(&id()?, &options).await?)
        }
        "getSystemPrompt" => json(&store.get_system_prompt(&id()?).await?),
        "getInsight" => json(&store.get_insight(&id()?).await?),
        "getMemory" => json(&store.get_memory(&id()?).await?),
        "getAllSessionL2s" => json(&store.get_all_session_l2s().await?),
        "listSessionDigests" => json(
            &store
                .list_session_digests(&arguments.optional::<SessionFilter>(0)?)
                .await?,
        ),
        "getNode" => json(&store.get_node(&id()?).await?),
        "getChildren" => json(
            &store
                .get_children(arguments.get::<Option<Text>>(0)?.as_ref())
                .await?,
        ),
        "getGlobal" => json(&store.get_global(&id()?).await?),
        "getCompressionCache" => json(&store.get_compression_cache(&id()?).await?),
        _ => {
            let write = match method {
                "putSession" => Write::PutSession(arguments.get(0)?),
                "putSystemPrompt" => Write::PutSystemPrompt {
                    id: id()?,
                    content: content()?,
                },
                "appendRecord" => Write::AppendRecord {
                    id: id()?,
                    record: arguments.record(1)?,
                },
                "trimRecords" => Write::TrimRecords {
                    id: id()?,
                    keep_recent: arguments.get(1)?,
                },
                "putInsight" => Write::PutInsight {
                    id: id()?,
                    content: content()?,
                },
                "clearInsight" => Write::ClearInsight { id: id()? },
                "putMemory" => Write::PutMemory {
                    id: id()?,
                    content: content()?,
                },
                "putNode" => Write::PutNode(arguments.get(0)?),
                "removeNode" => Write::RemoveNode { id: id()? },
                "putGlobal" => Write::PutGlobal {
                    key: id()?,
                    value: arguments.get(1)?,
                },
                "putCompressionCache" => Write::PutCompressionCache {
                    id: id()?,
                    cache: arguments.get(1)?,
                },
                "deleteSession" => Write::DeleteSession { id: id()? },
                _ => return Err(Error::NotImplemented(method.to_owned())),
            };
            store.apply(vec![write]).await?;
            "null".to_owned()
        }
    })
}

struct Arguments<'a> {
    method: &'a str,
    values: Vec<&'a RawValue>,
}

impl<'a> Arguments<'a> {
    fn read(method: &'a str, json: &'a str) -> Result<Self> {
        let values =
            serde_json::from_str(json).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self { method, values })
    }

    fn raw(&self, index: usize) -> &'a str {
        self.values.get(index).map_or("null", |value| value.get())
    }

    fn get<T: DeserializeOwned>(&self, index: usize) -> Result<T> {
        serde_json::from_str(self.raw(index)).map_err(|error| self.wrong(index, &error))
    }

    fn optional<T: DeserializeOwned + Default>(&self, index: usize) -> Result<T> {
        self.get::<Option<T>>(index).map(Option::unwrap_or_default)
    }

    fn record(&self, index: usize) -> Result<Message> {
        let record = Message::parse(self.raw(index)).map_err(|error| self.wrong(index, &error))?;
        // A storage in memory keeps the weight with the record: taken now, while the text is in the processor's cache, it costs a
        // tenth of what it would in the turn that needs it.
        let _ = record.weight_with(budget::weigh);
        Ok(record)
    }

    fn wrong(&self, index: usize, problem: &dyn std::fmt::Display) -> Error {
        Error::InvalidArgument(format!(
            "{}(): argument {} is wrong: {problem}",
            self.method,
            index + 1
        ))
    }
}

fn records(records: &[Message]) -> String {
    let mut out = String::with_capacity(
        records
            .iter()
            .map(|record| record.json().len() + 1)
            .sum::<usize>()
            + 2,
    );
    out.push('[');
    for (n, record) in records.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        out.push_str(record.json());
    }
    out.push(']');
    out
}
