use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;

use super::InMemoryStorage;
use crate::{
    error::StorageCode,
    message::{Message, MessageBuilder, Role},
    storage::{ListRecords, Slot, Storage, Store as _, Write},
    text::Text,
};

fn open() -> (Arc<dyn Storage>, ()) {
    (Arc::new(InMemoryStorage::new()), ())
}

crate::storage_conformance!(open());

fn record(content: &str) -> Message {
    MessageBuilder::new(Role::User, Text::from(content)).build()
}

fn append(content: &str) -> Write {
    Write::AppendRecord {
        id: Text::from("s"),
        record: record(content),
    }
}

#[test]
fn every_future_is_ready_at_its_first_poll_outside_of_a_runtime() {
    let storage = InMemoryStorage::new();
    let id = Text::from("s");
    storage
        .apply(vec![append("a")])
        .now_or_never()
        .unwrap()
        .unwrap();
    let loaded = storage.load(&id, Slot::Insight).now_or_never().unwrap();
    assert_eq!(loaded.unwrap().records.len(), 1);
    let transaction = storage.begin().now_or_never().unwrap().unwrap();
    transaction
        .apply(vec![append("b")])
        .now_or_never()
        .unwrap()
        .unwrap();
    assert!(storage.apply(vec![append("c")]).now_or_never().is_none());
    transaction.commit().now_or_never().unwrap().unwrap();
    storage
        .apply(vec![append("c")])
        .now_or_never()
        .unwrap()
        .unwrap();
}

#[test]
fn a_wait_that_begins_outside_of_a_runtime_ends_inside_of_one() {
    let storage = InMemoryStorage::new();
    let transaction = storage.begin().now_or_never().unwrap().unwrap();
    let mut write = Box::pin(storage.apply(vec![append("a")]));
    assert!((&mut write).now_or_never().is_none());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (written, committed) = tokio::join!(write, transaction.commit());
        written.unwrap();
        committed.unwrap();
    });
}

#[tokio::test]
async fn a_history_is_handed_out_without_a_copy_and_copied_only_while_it_is_held() {
    let storage = InMemoryStorage::new();
    let id = Text::from("s");
    storage.apply(vec![append("a")]).await.unwrap();
    let first = storage.load(&id, Slot::Insight).await.unwrap().records;
    let second = storage
        .list_records(&id, &ListRecords::default())
        .await
        .unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    storage.apply(vec![append("b")]).await.unwrap();
    assert_eq!(first.len(), 1);
    let third = storage.load(&id, Slot::Insight).await.unwrap().records;
    assert_eq!(third.len(), 2);
}

#[tokio::test]
async fn a_transaction_that_appends_copies_no_history() {
    let storage = InMemoryStorage::new();
    let id = Text::from("s");
    storage
        .apply((0..100).map(|_| append("x")).collect())
        .await
        .unwrap();
    let address = async || {
        storage
            .load(&id, Slot::Insight)
            .await
            .unwrap()
            .records
            .as_ptr()
    };
    let before = address().await;
    for _ in 0..2 {
        let transaction = storage.begin().await.unwrap();
        transaction.apply(vec![append("y")]).await.unwrap();
        transaction.get_insight(&id).await.unwrap();
        transaction.commit().await.unwrap();
    }
    assert_eq!(address().await, before);
    let transaction = storage.begin().await.unwrap();
    transaction.apply(vec![append("z")]).await.unwrap();
    let all = ListRecords::default();
    assert_eq!(
        transaction.list_records(&id, &all).await.unwrap().len(),
        103
    );
    assert_eq!(storage.list_records(&id, &all).await.unwrap().len(), 102);
    transaction.commit().await.unwrap();
    assert_eq!(storage.list_records(&id, &all).await.unwrap().len(), 103);
}

#[tokio::test(start_paused = true)]
async fn writers_take_turns_in_the_order_they_came() {
    let storage = InMemoryStorage::new();
    let open = storage.begin().await.unwrap();
    let writers: Vec<_> = ["1", "2", "3"]
        .map(|n| {
            let storage = storage.clone();
            tokio::spawn(async move { storage.apply(vec![append(n)]).await })
        })
        .into_iter()
        .collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    open.apply(vec![append("0")]).await.unwrap();
    open.commit().await.unwrap();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    let records = storage
        .list_records(&Text::from("s"), &ListRecords::default())
        .await
        .unwrap();
    let contents: Vec<_> = records.iter().map(|r| r.content().to_plain()).collect();
    assert_eq!(contents, ["0", "1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_outlive_several_forgotten_transactions() {
    let storage = InMemoryStorage::with_transaction_timeout(Duration::from_secs(5));
    let forgotten = storage.begin().await.unwrap();
    forgotten.apply(vec![append("lost")]).await.unwrap();
    let (second, third) = tokio::join!(
        async {
            let second = storage.begin().await.unwrap();
            second.apply(vec![append("lost too")]).await.unwrap();
            second
        },
        async {
            tokio::task::yield_now().await;
            storage.apply(vec![append("kept")]).await
        },
    );
    third.unwrap();
    for late in [forgotten, second] {
        let error = late.commit().await.unwrap_err();
        assert_eq!(error.code(), Some(StorageCode::Transaction.as_str()));
    }
    let kept = storage
        .load(&Text::from("s"), Slot::Insight)
        .await
        .unwrap()
        .records;
    assert_eq!(*kept, [record("kept")]);
}

#[test]
fn a_history_has_little_room_to_spare() {
    let storage = InMemoryStorage::new();
    for _ in 0..10_000 {
        storage
            .apply(vec![append("a")])
            .now_or_never()
            .unwrap()
            .unwrap();
    }
    let loaded = storage
        .load(&Text::from("s"), Slot::Insight)
        .now_or_never()
        .unwrap();
    let records = loaded.unwrap().records;
    assert!(records.capacity() <= records.len() + records.len() / 16 + 4);
}
