mod faults;
mod processes;

use std::{path::Path, sync::Arc, time::Duration};

use tempfile::TempDir;

use super::{SqliteOptions, SqliteStorage};
use crate::{
    message::{MessageBuilder, Role},
    storage::{ListRecords, Slot, Storage, Store, Write},
    text::Text,
};

mod in_memory {
    use super::*;

    fn open() -> (Arc<dyn Storage>, ()) {
        (
            Arc::new(SqliteStorage::open(SqliteOptions::new(":memory:"))),
            (),
        )
    }

    crate::storage_conformance!(open());
}

mod in_a_file {
    use super::*;

    fn open() -> (Arc<dyn Storage>, TempDir) {
        let folder = TempDir::new().unwrap();
        (
            Arc::new(storage(&folder.path().join("a 'file' 🎉.db"))),
            folder,
        )
    }

    crate::storage_conformance!(open());
}

fn storage(path: &Path) -> SqliteStorage {
    SqliteStorage::open(SqliteOptions::new(path))
}

fn append(content: &str) -> Write {
    Write::AppendRecord {
        id: Text::from("s"),
        record: MessageBuilder::new(Role::User, Text::from(content)).build(),
    }
}

async fn contents(storage: &SqliteStorage) -> Vec<String> {
    let records = storage
        .list_records(&Text::from("s"), &ListRecords::default())
        .await;
    records
        .unwrap()
        .iter()
        .map(|r| r.content().to_plain())
        .collect()
}

#[tokio::test]
async fn nothing_is_opened_before_the_first_use() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let unused = storage(&path);
    unused.close().await.unwrap();
    assert!(!path.exists());
    let used = storage(&path);
    used.apply(vec![append("1")]).await.unwrap();
    assert!(path.exists());
}

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    for n in 0..3 {
        let storage = storage(&path);
        assert_eq!(contents(&storage).await.len(), n);
        storage.apply(vec![append("x")]).await.unwrap();
        storage.close().await.unwrap();
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "a closed database is one file");
    }
}

#[tokio::test]
async fn a_transaction_that_stays_open_too_long_makes_room_and_says_so() {
    let storage = SqliteStorage::open(SqliteOptions {
        transaction_timeout: Duration::from_millis(500),
        ..SqliteOptions::new(":memory:")
    });
    let forgotten = storage.begin().await.unwrap();
    forgotten.apply(vec![append("lost")]).await.unwrap();
    storage.apply(vec![append("kept")]).await.unwrap();
    assert_eq!(contents(&storage).await, ["kept"]);
    let error = forgotten.apply(vec![append("late")]).await.unwrap_err();
    assert_eq!(error.code(), Some("transaction"));
    assert!(error.to_string().contains("500 ms"), "{error}");
    let error = forgotten.commit().await.unwrap_err();
    assert_eq!(error.code(), Some("transaction"));
    assert_eq!(contents(&storage).await, ["kept"]);
}

#[tokio::test]
async fn the_thread_ends_with_the_storage_and_its_transactions() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let first = storage(&path);
    let transaction = first.begin().await.unwrap();
    transaction.apply(vec![append("lost")]).await.unwrap();
    drop(first);
    drop(transaction);
    let second = storage(&path);
    second.apply(vec![append("kept")]).await.unwrap();
    assert_eq!(contents(&second).await, ["kept"]);
}

#[tokio::test]
async fn whoever_alters_or_deletes_a_record_drops_the_cache() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let storage = storage(&path);
    let id = Text::from("s");
    for change in [
        "UPDATE records SET message = replace(message, 'two', 'TWO')",
        "DELETE FROM records WHERE seq = 2",
    ] {
        let writes = vec![
            Write::DeleteSession { id: id.clone() },
            append("one"),
            append("two"),
            append("three"),
        ];
        storage.apply(writes).await.unwrap();
        let fingerprint = storage.load(&id, Slot::Insight).await.unwrap().fingerprint;
        let cache = crate::storage::CompressionCache {
            summary: Text::from("summary"),
            compressed_count: 1,
            fingerprint,
        };
        let put = |cache| Write::PutCompressionCache {
            id: Text::from("s"),
            cache,
        };
        storage.apply(vec![put(cache.clone())]).await.unwrap();
        assert!(
            storage
                .load(&id, Slot::Insight)
                .await
                .unwrap()
                .cache
                .is_some()
        );
        let other = rusqlite::Connection::open(&path).unwrap();
        assert!(other.execute(change, ()).unwrap() > 0);
        assert_eq!(storage.get_compression_cache(&id).await.unwrap(), None);
        storage.apply(vec![put(cache)]).await.unwrap();
        assert_eq!(
            storage.load(&id, Slot::Insight).await.unwrap().cache,
            None,
            "{change}"
        );
    }
}
