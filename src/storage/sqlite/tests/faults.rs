//! What can be wrong with a file, and what is said about it.

use std::{fs, path::Path, time::Duration};

use rusqlite::Connection;
use tempfile::TempDir;

use super::{SqliteOptions, SqliteStorage, append, contents, storage};
use crate::{
    error::Error,
    meta::SessionFilter,
    storage::{ListRecords, Slot, Storage as _, Store as _},
    text::Text,
};

async fn refusal(path: &Path) -> Error {
    let storage = storage(path);
    let read = storage.get_insight(&Text::from("s")).await.unwrap_err();
    let written = storage.apply(vec![append("x")]).await.unwrap_err();
    assert_eq!(read.code(), written.code());
    written
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "not a database ".repeat(1_000);
    fs::write(&path, &text).unwrap();
    let error = refusal(&path).await;
    assert_eq!(error.code(), Some("incompatible"));
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn a_database_of_another_application_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("other.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE sessions (x)")
        .unwrap();
    let before = fs::read(&path).unwrap();
    let error = refusal(&path).await;
    assert_eq!(error.code(), Some("incompatible"));
    assert!(error.to_string().contains("another application"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_newer_schema_is_refused_by_its_number() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let old = storage(&path);
    old.apply(vec![append("1")]).await.unwrap();
    old.close().await.unwrap();
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let error = refusal(&path).await;
    assert_eq!(error.code(), Some("incompatible"));
    assert!(error.to_string().contains("version 99"), "{error}");
}

#[tokio::test]
async fn a_schema_that_is_there_in_part_is_refused_and_nothing_is_added() {
    for change in [
        "DROP TABLE slots",
        "DROP TABLE records",
        "DROP TABLE sessions",
        "ALTER TABLE records DROP COLUMN message",
        "PRAGMA user_version = 0", // cut off between two steps, and its count with it
    ] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("s.db");
        let whole = storage(&path);
        whole.apply(vec![append("1")]).await.unwrap();
        whole.close().await.unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch(change).unwrap();
        let schema = || -> Vec<String> {
            let mut all = other
                .prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name")
                .unwrap();
            let rows = all.query_map((), |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let before = schema();
        let spoiled = storage(&path);
        let id = Text::from("s");
        let error = match spoiled.load(&id, Slot::Insight).await {
            Err(error) => error,
            Ok(_) => spoiled.apply(vec![append("2")]).await.unwrap_err(),
        };
        assert_eq!(error.code(), Some("incompatible"), "{change}: {error}");
        assert_eq!(schema(), before, "{change}");
    }
}

#[tokio::test]
async fn a_missing_folder_is_named_and_the_next_call_tries_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("missing").join("s.db");
    let storage = storage(&path);
    let error = storage.apply(vec![append("1")]).await.unwrap_err();
    assert_eq!(error.code(), Some("unavailable"));
    assert!(error.to_string().contains("missing"), "{error}");
    fs::create_dir(folder.path().join("missing")).unwrap();
    storage.apply(vec![append("1")]).await.unwrap();
    assert_eq!(contents(&storage).await, ["1"]);
    assert_eq!(refusal(folder.path()).await.code(), Some("unavailable"));
    assert_eq!(refusal(Path::new("")).await.code(), Some("unavailable"));
}

#[tokio::test]
async fn a_full_disk_loses_no_acknowledged_turn_and_leaves_no_half_of_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let storage = storage(&path);
    storage.apply(vec![append("first")]).await.unwrap();
    // The limit is the connection's own, so it is set where the connection lives.
    storage
        .read(|connection| {
            let limit = connection.pragma_update_and_check(None, "max_page_count", 60, |_| Ok(()));
            limit.map_err(super::super::fault::of)
        })
        .await
        .unwrap();
    let mut turns = 0;
    let error = loop {
        let content = format!("{turns} {}", "x".repeat(10_000));
        match storage
            .apply(vec![append(&content), append(&content)])
            .await
        {
            Ok(()) => turns += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), Some("not_writable"));
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(contents(&storage).await.len(), 1 + 2 * turns);
    let transaction = storage.begin().await.unwrap();
    let big = "x".repeat(1_000_000);
    transaction
        .apply(vec![append("y"), append(&big)])
        .await
        .unwrap_err();
    drop(transaction);
    assert_eq!(contents(&storage).await.len(), 1 + 2 * turns);
    storage.close().await.unwrap();
    let again = super::storage(&path);
    again.apply(vec![append("more")]).await.unwrap();
    assert_eq!(contents(&again).await.len(), 2 + 2 * turns);
}

#[tokio::test]
async fn a_read_only_database_is_read_and_refuses_writes_by_name() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let storage = storage(&path);
    storage.apply(vec![append("1")]).await.unwrap();
    storage
        .read(|connection| {
            connection
                .pragma_update(None, "query_only", true)
                .map_err(super::super::fault::of)
        })
        .await
        .unwrap();
    let error = storage.apply(vec![append("2")]).await.unwrap_err();
    assert_eq!(error.code(), Some("not_writable"));
    assert_eq!(contents(&storage).await, ["1"]);
}

#[tokio::test]
async fn a_writer_that_waits_too_long_for_another_process_fails_by_name_and_reads_go_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let storage = SqliteStorage::open(SqliteOptions {
        busy_timeout: Duration::from_millis(400),
        ..SqliteOptions::new(&path)
    });
    storage.apply(vec![append("1")]).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (written, read) = tokio::join!(storage.apply(vec![append("2")]), contents(&storage));
    let error = written.unwrap_err();
    assert_eq!(error.code(), Some("timeout"));
    assert!(error.to_string().contains("400 ms"), "{error}");
    assert_eq!(read, ["1"]);
    let (written, ()) = tokio::join!(storage.apply(vec![append("3")]), async {
        tokio::task::yield_now().await;
        other.execute_batch("ROLLBACK").unwrap();
    });
    written.unwrap();
    assert_eq!(contents(&storage).await, ["1", "3"]);
}

#[tokio::test]
async fn rows_that_other_hands_spoiled_are_refused_by_table_and_column() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let storage = storage(&path);
    let id = Text::from("s");
    let writes = vec![
        append("1"),
        crate::storage::Write::PutInsight {
            id: id.clone(),
            content: Text::from("i"),
        },
        crate::storage::Write::PutGlobal {
            key: id.clone(),
            value: crate::meta::empty_object(),
        },
    ];
    storage.apply(writes).await.unwrap();
    let other = Connection::open(&path).unwrap();
    let spoil = |sql: &str| assert_eq!(other.execute(sql, ()).unwrap(), 1, "{sql}");
    spoil(r#"UPDATE records SET message = '{"role":"bot","content":""}'"#);
    spoil(r#"UPDATE slots SET content = 'a "quote"'"#);
    spoil("UPDATE globals SET value = CAST(x'ff7b' AS TEXT)");
    spoil("INSERT INTO metas (session, status, role, meta) VALUES (1, 'active', 'main', '[]')");
    spoil("INSERT INTO nodes (id, node) VALUES ('s', '{}')");
    let failures = [
        (
            storage
                .list_records(&id, &ListRecords::default())
                .await
                .err(),
            "records.message: role",
        ),
        (storage.get_insight(&id).await.err(), "slots.content"),
        (
            storage.load(&id, Slot::Insight).await.err(),
            "records.message: role",
        ),
        (storage.get_global(&id).await.err(), "value"),
        (storage.get_session(&id).await.err(), "metas.meta"),
        (
            storage.list_sessions(&SessionFilter::default()).await.err(),
            "metas.meta",
        ),
        (storage.get_node(&id).await.err(), "nodes.node"),
        (storage.get_children(None).await.err(), "nodes.node"),
    ];
    for (failure, named) in failures {
        let failure = failure.unwrap();
        assert_eq!(failure.code(), Some("invalid_shape"), "{failure}");
        assert!(failure.to_string().contains(named), "{failure}");
    }
    storage.apply(vec![append("2")]).await.unwrap();
}

#[tokio::test]
async fn numbers_that_no_key_has_room_for_are_refused_and_touch_no_other_session() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let storage = storage(&path);
    storage.apply(vec![append("1"), append("2")]).await.unwrap();
    let id = Text::from("s");
    let cache = crate::storage::CompressionCache {
        summary: Text::from("summary"),
        compressed_count: 1,
        fingerprint: Text::default(),
    };
    let put = crate::storage::Write::PutCompressionCache {
        id: id.clone(),
        cache,
    };
    storage.apply(vec![put.clone()]).await.unwrap();
    let other = Connection::open(&path).unwrap();
    let set = |sql: &str| assert_eq!(other.execute(sql, ()).unwrap(), 1, "{sql}");

    // A cache that cannot be right is passed over.
    for count in [i64::MIN, -1, i64::MAX] {
        set(&format!(
            "UPDATE caches SET last_seq = {count}, compressed_count = {count}"
        ));
        let loaded = storage.load(&id, Slot::Insight).await.unwrap();
        assert_eq!((loaded.cache, loaded.records.len()), (None, 2));
        storage.apply(vec![put.clone()]).await.unwrap();
        assert_eq!(
            storage
                .load(&id, Slot::Insight)
                .await
                .unwrap()
                .records
                .len(),
            1
        );
    }

    let refused = |error: Error, column: &str| {
        assert_eq!(error.code(), Some("invalid_shape"), "{error}");
        assert!(error.to_string().starts_with(column), "{error}");
    };
    set("UPDATE sessions SET next_seq = -9223372036854775807");
    refused(
        storage.apply(vec![append("3")]).await.unwrap_err(),
        "sessions.next_seq",
    );
    set("UPDATE sessions SET next_seq = 3");
    for number in [i64::MIN, -1 << 31, -1] {
        set(&format!("UPDATE sessions SET number = {number}"));
        refused(
            storage.apply(vec![append("3")]).await.unwrap_err(),
            "sessions.number",
        );
        refused(
            storage.load(&id, Slot::Insight).await.unwrap_err(),
            "sessions.number",
        );
    }
    set("UPDATE sessions SET number = 1");
    storage.apply(vec![append("3")]).await.unwrap();
    assert_eq!(contents(&storage).await, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_panic_on_the_thread_is_an_error_and_the_next_call_works() {
    let folder = TempDir::new().unwrap();
    let storage = storage(&folder.path().join("s.db"));
    storage.apply(vec![append("1")]).await.unwrap();
    let panicking = storage
        .read(|_| -> crate::error::Result<()> { panic!("planted") })
        .await;
    assert_eq!(
        panicking.unwrap_err().to_string(),
        "internal error: planted"
    );
    storage.apply(vec![append("2")]).await.unwrap();
    let transaction = storage.begin().await.unwrap();
    transaction.apply(vec![append("3")]).await.unwrap();
    drop(transaction);
    assert_eq!(contents(&storage).await, ["1", "2"]);
}
