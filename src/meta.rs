//! What is known about a session besides its messages.

use serde::{Deserialize, Deserializer, Serialize};

use crate::text::{Json, Text};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    #[default]
    Standard,
    Main,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    #[default]
    Active,
    Archived,
}

/// `SessionMeta` of the public API, keys in its order.
///
/// A storage that knows one kind of session only keeps no `role`; what it has not, or has as `null`, is as in a new
/// session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionMeta {
    pub id: Text,
    pub label: Text,
    #[serde(default, deserialize_with = "or_default")]
    pub role: Kind,
    #[serde(default, deserialize_with = "or_default")]
    pub status: Status,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<Text>,
    #[serde(default = "empty_object", deserialize_with = "or_empty_object")]
    pub metadata: Json,
    pub created_at: Text,
    pub updated_at: Text,
}

/// A place in the forest of sessions; a root has no parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyNode {
    pub id: Text,
    pub parent_id: Option<Text>,
    pub label: Text,
}

/// What the reflection layer reads of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionDigest {
    pub id: Text,
    pub label: Text,
    pub status: Status,
    pub memory: Option<Text>,
    pub insight: Option<Text>,
}

/// `ChildL2Summary` of the public API: an active standard session that has a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildL2Summary {
    pub session_id: Text,
    pub label: Text,
    pub l2: Text,
}

/// `SessionFilter` of the public API: a session passes when every given field holds; all `tags` must be present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFilter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Text>>,
}

#[must_use]
pub fn empty_object() -> Json {
    Json::from_trusted("{}")
}

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn or_empty_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    Option::deserialize(deserializer).map(|given| given.unwrap_or_else(empty_object))
}
