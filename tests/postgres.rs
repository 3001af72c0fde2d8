//! The storage in PostgreSQL, against the server that `STELLO_TEST_POSTGRES_URL` names (a user who may make schemas
//! and end other connections of its own).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use stello_session::{
    error::{Error, Result},
    message::{MessageBuilder, Role},
    meta::SessionFilter,
    storage::{
        CompressionCache, ListRecords, PostgresOptions, PostgresStorage, Slot, Storage, Store,
        Write, conformance::Shared,
    },
    storage_conformance,
    text::Text,
};
use tokio_postgres::NoTls;

mod conformance {
    use super::*;

    fn open() -> (Shared, Schema) {
        let schema = Schema::new();
        (Arc::new(schema.storage()), schema)
    }

    storage_conformance!(open());
}

fn url() -> String {
    env::var("STELLO_TEST_POSTGRES_URL")
        .expect("STELLO_TEST_POSTGRES_URL must name a PostgreSQL server for these tests")
}

/// A schema of one test, removed at its end.
struct Schema(String);

impl Schema {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let _ = url();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("stello \"test\" {} {number}", std::process::id()))
    }

    fn options(&self) -> PostgresOptions {
        PostgresOptions {
            schema: self.0.clone(),
            max_connections: 5,
            ..PostgresOptions::new(url())
        }
    }

    fn storage(&self) -> PostgresStorage {
        PostgresStorage::open(self.options()).unwrap()
    }

    fn quoted(&self) -> String {
        format!("\"{}\"", self.0.replace('"', "\"\""))
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!(
            "SET lock_timeout = '5s'; DROP SCHEMA IF EXISTS {} CASCADE",
            self.quoted()
        );
        let dropped = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(execute(&sql));
        });
        assert!(dropped.join().is_ok() || thread::panicking());
    }
}

async fn execute(sql: &str) {
    let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}

fn append(content: &str) -> Write {
    Write::AppendRecord {
        id: Text::from("s"),
        record: MessageBuilder::new(Role::User, Text::from(content)).build(),
    }
}

async fn contents(storage: &PostgresStorage) -> Vec<String> {
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
async fn twenty_processes_that_start_at_once_make_one_schema_and_never_interleave() {
    let schema = Schema::new();
    let writers: Vec<_> = (0..20)
        .map(|writer| {
            let storage = PostgresStorage::open(PostgresOptions {
                max_connections: 1,
                ..schema.options()
            })
            .unwrap();
            tokio::spawn(async move {
                for turn in 0..20 {
                    storage.load(&Text::from("s"), Slot::Insight).await?;
                    let content = format!("{writer}.{turn}");
                    storage
                        .apply(vec![append(&content), append(&content)])
                        .await?;
                }
                storage.close().await
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    let storage = schema.storage();
    let all = contents(&storage).await;
    assert_eq!(all.len(), 800);
    assert!(all.chunks(2).all(|turn| turn[0] == turn[1]), "{all:?}");
    let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let sql = format!(
        "SELECT count(*), min(seq), max(seq) FROM {}.records",
        schema.quoted()
    );
    let row = client.query_one(&sql, &[]).await.unwrap();
    let numbers: (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(numbers, (800, 1, 800), "the sequence has no gap");
}

#[tokio::test]
async fn lists_over_several_sessions_in_any_order_never_fail_on_each_other() {
    let schema = Schema::new();
    let storage = schema.storage();
    let put = |id: &str| Write::PutInsight {
        id: Text::from(id),
        content: Text::from("i"),
    };
    let writers: Vec<_> = (0..12)
        .map(|n| {
            let storage = storage.clone();
            let mut ids = ["a", "b", "c", "d"];
            ids.rotate_left(n % 4);
            if n % 2 == 0 {
                ids.reverse();
            }
            let writes = ids.map(put).to_vec();
            tokio::spawn(async move {
                for _ in 0..25 {
                    storage.apply(writes.clone()).await?;
                }
                Result::<()>::Ok(())
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn sessions_do_not_wait_for_the_transaction_of_another() {
    let schema = Schema::new();
    let storage = schema.storage();
    let open = storage.begin().await.unwrap();
    open.apply(vec![append("1")]).await.unwrap();
    let other = Write::PutInsight {
        id: Text::from("other"),
        content: Text::from("i"),
    };
    storage.apply(vec![other]).await.unwrap();
    open.commit().await.unwrap();
    assert_eq!(contents(&storage).await, ["1"]);
}

#[tokio::test]
async fn an_exhausted_pool_waits_and_then_fails_by_name() {
    let schema = Schema::new();
    let storage = PostgresStorage::open(PostgresOptions {
        max_connections: 2,
        connect_timeout: Duration::from_secs(3),
        ..schema.options()
    })
    .unwrap();
    let first = storage.begin().await.unwrap();
    let second = storage.begin().await.unwrap();
    let error = storage.get_insight(&Text::from("s")).await.unwrap_err();
    assert_eq!(error.code(), Some("timeout"));
    assert!(error.to_string().contains("all 2 connections"), "{error}");
    let id = Text::from("s");
    let (read, ()) = tokio::join!(storage.get_insight(&id), async {
        tokio::task::yield_now().await;
        drop(first);
    });
    assert_eq!(read.unwrap(), None);
    second.rollback().await.unwrap();
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_cancelled_and_has_not_happened() {
    let schema = Schema::new();
    let storage = schema.storage();
    let impatient = PostgresStorage::open(PostgresOptions {
        statement_timeout: Duration::from_millis(1_500),
        ..schema.options()
    })
    .unwrap();
    storage.apply(vec![append("1")]).await.unwrap();
    let open = storage.begin().await.unwrap();
    open.apply(vec![append("2")]).await.unwrap();
    let since = Instant::now();
    let error = impatient.apply(vec![append("never")]).await.unwrap_err();
    assert_eq!(error.code(), Some("timeout"));
    assert!(error.to_string().contains("1500 ms"), "{error}");
    assert!(since.elapsed() < Duration::from_secs(10));
    open.commit().await.unwrap();
    impatient.apply(vec![append("3")]).await.unwrap();
    assert_eq!(contents(&storage).await, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_transaction_that_stays_open_too_long_is_rolled_back_and_says_so() {
    let schema = Schema::new();
    let storage = PostgresStorage::open(PostgresOptions {
        transaction_timeout: Duration::from_millis(1_500),
        ..schema.options()
    })
    .unwrap();
    storage.apply(vec![append("1")]).await.unwrap();
    let forgotten = storage.begin().await.unwrap();
    forgotten.apply(vec![append("lost")]).await.unwrap();
    storage.apply(vec![append("2")]).await.unwrap();
    let late = forgotten.apply(vec![append("late")]).await.unwrap_err();
    assert_eq!(late.code(), Some("transaction"));
    assert!(late.to_string().contains("1500 ms"), "{late}");
    assert_eq!(
        forgotten.commit().await.unwrap_err().code(),
        Some("transaction")
    );
    assert_eq!(contents(&storage).await, ["1", "2"]);
}

#[tokio::test]
async fn a_connection_that_the_server_ends_fails_what_is_in_flight_and_is_replaced() {
    let schema = Schema::new();
    let name = format!("stello-test-{}", std::process::id());
    let separator = if url().contains('?') { '&' } else { '?' };
    let storage = PostgresStorage::open(PostgresOptions {
        connection_string: format!("{}{separator}application_name={name}", url()),
        ..schema.options()
    })
    .unwrap();
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
    );
    storage.apply(vec![append("1")]).await.unwrap();
    let open = storage.begin().await.unwrap();
    open.apply(vec![append("lost")]).await.unwrap();
    execute(&end).await;
    let error = open.apply(vec![append("late")]).await.unwrap_err();
    assert_eq!(error.code(), Some("unavailable"), "{error}");
    assert_eq!(open.commit().await.unwrap_err().code(), Some("transaction"));
    for n in 0..3 {
        assert_eq!(contents(&storage).await.len(), n + 1);
        storage.apply(vec![append("x")]).await.unwrap();
        execute(&end).await;
        // The end of the connection arrives by itself; a read is asked again where it had not yet.
        contents(&storage).await;
    }
}

#[tokio::test]
async fn a_failed_statement_makes_the_commit_fail() {
    let schema = Schema::new();
    let storage = PostgresStorage::open(PostgresOptions {
        statement_timeout: Duration::from_millis(1_500),
        ..schema.options()
    })
    .unwrap();
    storage.apply(vec![append("1")]).await.unwrap();
    let transaction = storage.begin().await.unwrap();
    transaction.apply(vec![append("2")]).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let lock = format!(
        "BEGIN; LOCK TABLE {}.metas IN ACCESS EXCLUSIVE MODE",
        schema.quoted()
    );
    client.batch_execute(&lock).await.unwrap();
    let read = transaction.list_sessions(&SessionFilter::default()).await;
    assert_eq!(read.unwrap_err().code(), Some("timeout"));
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(
        transaction.commit().await.unwrap_err().code(),
        Some("transaction")
    );
    assert_eq!(contents(&storage).await, ["1"]);
}

#[tokio::test]
async fn what_cannot_be_reached_is_said_without_the_password() {
    let schema = Schema::new();
    let base = url();
    let (user, host) = base.split_once("://").unwrap().1.split_once('@').unwrap();
    let user = user.split_once(':').map_or(user, |(user, _)| user);
    let host_only = host.split_once('/').unwrap().0;
    let cases = [
        (format!("postgres://{user}:hunter2@{host}"), "login"),
        (format!("{base}_no_such_database"), "does not exist"),
        (
            format!("postgres://{user}:hunter2@127.0.0.1:1/x"),
            "cannot be reached",
        ),
        (
            format!("postgres://{user}:hunter2@no-such-host.invalid/x"),
            "cannot be reached",
        ),
        (
            format!("postgres://{user}:hunter2@{host_only}/x?sslmode=verify-full"),
            "cannot be reached",
        ),
    ];
    for (connection_string, expected) in cases {
        let storage = PostgresStorage::open(PostgresOptions {
            connection_string,
            connect_timeout: Duration::from_secs(5),
            ..schema.options()
        })
        .unwrap();
        let error = storage.apply(vec![append("x")]).await.unwrap_err();
        assert_eq!(error.code(), Some("unavailable"), "{error:?}");
        assert!(error.to_string().contains(expected), "{error:?}");
        let shown = format!("{error} {error:?} {storage:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[tokio::test]
async fn a_schema_that_is_newer_foreign_or_incomplete_is_refused() {
    let refused = async |prepare: &str, expected: &str| {
        let schema = Schema::new();
        let sql = prepare.replace("SCHEMA_NAME", &schema.quoted());
        if prepare.contains("version") || prepare.starts_with("DROP") {
            let storage = schema.storage();
            storage.apply(vec![append("1")]).await.unwrap();
        }
        execute(&sql).await;
        let error = schema.storage().apply(vec![append("x")]).await.unwrap_err();
        assert_eq!(error.code(), Some("incompatible"), "{error:?}");
        assert!(error.to_string().contains(expected), "{error:?}");
    };
    refused(
        "INSERT INTO SCHEMA_NAME.migrations (version) VALUES (99)",
        "version 99",
    )
    .await;
    refused(
        "CREATE SCHEMA SCHEMA_NAME CREATE TABLE sessions (x int)",
        "tables of the schema",
    )
    .await;
    refused("DROP TABLE SCHEMA_NAME.records", "tables of the schema").await;
}

#[tokio::test]
async fn whoever_alters_deletes_or_truncates_records_drops_the_cache() {
    let schema = Schema::new();
    let storage = schema.storage();
    let id = Text::from("s");
    for change in [
        "UPDATE SCHEMA_NAME.records SET message = replace(message, 'two', 'TWO')",
        "DELETE FROM SCHEMA_NAME.records WHERE seq = 2",
        "TRUNCATE SCHEMA_NAME.records",
    ] {
        let writes = vec![
            Write::DeleteSession { id: id.clone() },
            append("one"),
            append("two"),
            append("three"),
        ];
        storage.apply(writes).await.unwrap();
        let cache = CompressionCache {
            summary: Text::from("summary"),
            compressed_count: 1,
            fingerprint: storage.load(&id, Slot::Insight).await.unwrap().fingerprint,
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
        execute(&change.replace("SCHEMA_NAME", &schema.quoted())).await;
        assert_eq!(storage.get_compression_cache(&id).await.unwrap(), None);
        storage.apply(vec![put(cache)]).await.unwrap();
        assert_eq!(
            storage.load(&id, Slot::Insight).await.unwrap().cache,
            None,
            "{change}"
        );
    }
}

#[tokio::test]
async fn rows_that_other_hands_spoiled_are_refused_by_table_and_column() {
    let schema = Schema::new();
    let storage = schema.storage();
    let id = Text::from("s");
    storage.apply(vec![append("1")]).await.unwrap();
    let spoil = format!(
        r#"UPDATE {0}.records SET message = '{{"role":"bot","content":""}}';
           INSERT INTO {0}.slots VALUES ((SELECT number FROM {0}.sessions), 'insight', 'a "quote"')"#,
        schema.quoted()
    );
    execute(&spoil).await;
    let failures: [(Option<Error>, &str); 3] = [
        (
            storage
                .list_records(&id, &ListRecords::default())
                .await
                .err(),
            "records.message: role",
        ),
        (storage.get_insight(&id).await.err(), "slots.content"),
        (
            storage.load(&id, Slot::Memory).await.err(),
            "records.message: role",
        ),
    ];
    for (failure, named) in failures {
        let failure = failure.unwrap();
        assert_eq!(failure.code(), Some("invalid_shape"), "{failure}");
        assert!(failure.to_string().contains(named), "{failure}");
    }
}

#[tokio::test]
async fn records_come_in_order_wherever_the_database_keeps_them() {
    let schema = Schema::new();
    let storage = schema.storage();
    let all: Vec<_> = (0..200).map(|n| n.to_string()).collect();
    storage
        .apply(all.iter().map(|n| append(n)).collect())
        .await
        .unwrap();
    // An altered row moves to the end of the table.
    let table = format!("{}.records", schema.quoted());
    execute(&format!(
        "UPDATE {table} SET message = message || repeat(' ', 500) WHERE seq % 3 = 1"
    ))
    .await;
    let loaded = storage.load(&Text::from("s"), Slot::Insight).await.unwrap();
    let contents: Vec<_> = loaded
        .records
        .iter()
        .map(|r| r.content().to_plain())
        .collect();
    assert_eq!(contents, all);
}
