//! Topology nodes.

use super::{Shared, text};
use crate::{meta::TopologyNode, storage::Write};

pub async fn nodes_are_listed_under_their_parent_in_the_order_they_were_put(storage: Shared) {
    let tree = [
        ("z", None),
        ("b", Some("z")),
        ("a", Some("z")),
        ("r", None),
        ("x", Some("nobody")),
    ];
    storage
        .apply(tree.map(|(id, parent)| put(id, parent)).to_vec())
        .await
        .unwrap();
    assert_eq!(children(&storage, None).await, ["z", "r"]);
    assert_eq!(children(&storage, Some("z")).await, ["b", "a"]);
    assert_eq!(children(&storage, Some("nobody")).await, ["x"]);
    assert!(children(&storage, Some("b")).await.is_empty());
    let node = storage.get_node(&text("a")).await.unwrap();
    assert_eq!(node, Some(node_of("a", Some("z"))));
    assert_eq!(storage.get_node(&text("nobody")).await.unwrap(), None);
    assert_eq!(storage.get_session(&text("a")).await.unwrap(), None);
}

pub async fn a_node_put_again_keeps_its_place_and_may_move(storage: Shared) {
    for (id, parent) in [
        ("r", None),
        ("a", Some("r")),
        ("b", Some("r")),
        ("c", Some("r")),
        ("s", None),
    ] {
        storage.apply(vec![put(id, parent)]).await.unwrap();
    }
    let renamed = TopologyNode {
        label: text("renamed"),
        ..node_of("a", Some("r"))
    };
    storage
        .apply(vec![Write::PutNode(renamed.clone())])
        .await
        .unwrap();
    assert_eq!(children(&storage, Some("r")).await, ["a", "b", "c"]);
    assert_eq!(storage.get_node(&text("a")).await.unwrap(), Some(renamed));
    storage.apply(vec![put("b", None)]).await.unwrap();
    assert_eq!(children(&storage, Some("r")).await, ["a", "c"]);
    assert_eq!(children(&storage, None).await, ["r", "b", "s"]);
    storage.apply(vec![put("b", Some("r"))]).await.unwrap();
    assert_eq!(children(&storage, Some("r")).await, ["a", "b", "c"]);
}

pub async fn a_removed_node_leaves_its_children_where_they_were(storage: Shared) {
    for (id, parent) in [("r", None), ("a", Some("r")), ("b", Some("a"))] {
        storage.apply(vec![put(id, parent)]).await.unwrap();
    }
    let remove = |id: &str| Write::RemoveNode { id: text(id) };
    storage
        .apply(vec![remove("a"), remove("absent")])
        .await
        .unwrap();
    assert_eq!(storage.get_node(&text("a")).await.unwrap(), None);
    assert!(children(&storage, Some("r")).await.is_empty());
    assert_eq!(children(&storage, Some("a")).await, ["b"]);
    storage
        .apply(vec![put("c", Some("r")), put("a", Some("r"))])
        .await
        .unwrap();
    assert_eq!(children(&storage, Some("r")).await, ["c", "a"]);
}

fn node_of(id: &str, parent: Option<&str>) -> TopologyNode {
    TopologyNode {
        id: text(id),
        parent_id: parent.map(text),
        label: text(&format!("label of {id}")),
    }
}

fn put(id: &str, parent: Option<&str>) -> Write {
    Write::PutNode(node_of(id, parent))
}

async fn children(storage: &Shared, parent: Option<&str>) -> Vec<String> {
    let parent = parent.map(text);
    let nodes = storage.get_children(parent.as_ref()).await.unwrap();
    nodes.into_iter().map(|node| node.id.to_plain()).collect()
}
