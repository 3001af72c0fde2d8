//! System prompt, insight, memory and globals.

use super::{Shared, text};
use crate::{
    storage::Write,
    text::{Json, Text},
};

pub async fn slots_are_replaced_and_kept_apart_without_a_session(storage: Shared) {
    for round in ["1", "2"] {
        for id in ["a", "b"] {
            let content = |slot: &str| text(&format!("{slot} {id}{round}"));
            let id = text(id);
            let writes = vec![
                Write::PutSystemPrompt {
                    id: id.clone(),
                    content: content("prompt"),
                },
                Write::PutInsight {
                    id: id.clone(),
                    content: content("insight"),
                },
                Write::PutMemory {
                    id,
                    content: content("memory"),
                },
            ];
            storage.apply(writes).await.unwrap();
        }
    }
    for id in ["a", "b"] {
        let expected = |slot: &str| Some(text(&format!("{slot} {id}2")));
        let id = text(id);
        assert_eq!(
            storage.get_system_prompt(&id).await.unwrap(),
            expected("prompt")
        );
        assert_eq!(storage.get_insight(&id).await.unwrap(), expected("insight"));
        assert_eq!(storage.get_memory(&id).await.unwrap(), expected("memory"));
        assert_eq!(storage.get_session(&id).await.unwrap(), None);
    }
}

pub async fn an_empty_text_is_not_an_absent_one(storage: Shared) {
    let id = text("s");
    let empty = Text::default;
    let writes = vec![
        Write::PutSystemPrompt {
            id: id.clone(),
            content: empty(),
        },
        Write::PutInsight {
            id: id.clone(),
            content: empty(),
        },
        Write::PutMemory {
            id: id.clone(),
            content: empty(),
        },
    ];
    storage.apply(writes).await.unwrap();
    assert_eq!(storage.get_system_prompt(&id).await.unwrap(), Some(empty()));
    assert_eq!(storage.get_insight(&id).await.unwrap(), Some(empty()));
    assert_eq!(storage.get_memory(&id).await.unwrap(), Some(empty()));
    storage
        .apply(vec![Write::ClearInsight { id: id.clone() }])
        .await
        .unwrap();
    assert_eq!(storage.get_insight(&id).await.unwrap(), None);
    assert_eq!(storage.get_memory(&id).await.unwrap(), Some(empty()));
}

pub async fn an_insight_is_cleared_only_while_it_is_the_expected_one(storage: Shared) {
    let id = text("s");
    let put = |content: &str| Write::PutInsight {
        id: text("s"),
        content: text(content),
    };
    let clear = |content: &str| Write::ClearInsightIf {
        id: text("s"),
        content: text(content),
    };
    storage
        .apply(vec![put("new"), clear("old"), clear("New"), clear("new ")])
        .await
        .unwrap();
    assert_eq!(storage.get_insight(&id).await.unwrap(), Some(text("new")));
    storage.apply(vec![clear("new")]).await.unwrap();
    assert_eq!(storage.get_insight(&id).await.unwrap(), None);
    storage.apply(vec![put(""), clear("")]).await.unwrap();
    assert_eq!(storage.get_insight(&id).await.unwrap(), None);
}

pub async fn globals_are_replaced_and_kept_apart_from_sessions(storage: Shared) {
    let put = |key: &str, value: &str| Write::PutGlobal {
        key: text(key),
        value: Json::parse(value).unwrap(),
    };
    let writes = vec![
        put("k", "1"),
        put("K", "[]"),
        put("k", "{\"b\":null,\"a\":1}"),
        put("", "null"),
    ];
    storage.apply(writes).await.unwrap();
    let read = async |key: &str| {
        let value = storage.get_global(&text(key)).await.unwrap();
        value.map(|json| json.to_string())
    };
    assert_eq!(read("k").await.as_deref(), Some("{\"b\":null,\"a\":1}"));
    assert_eq!(read("K").await.as_deref(), Some("[]"));
    assert_eq!(read("").await.as_deref(), Some("null"));
    assert_eq!(read("absent").await, None);
    storage
        .apply(vec![Write::DeleteSession { id: text("k") }])
        .await
        .unwrap();
    assert!(read("k").await.is_some());
}
