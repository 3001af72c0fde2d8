//! All that the storage holds. A copy costs nothing (persistent maps), which is what a transaction works on.

use std::sync::Arc;

use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use super::{entry::Entry, nodes::Nodes};
use crate::{
    meta::{ChildL2Summary, Kind, SessionDigest, SessionFilter, SessionMeta, Status, TopologyNode},
    storage::{Write, rows},
    text::{Json, Text},
};

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    entries: HashTrieMapSync<Text, Arc<Entry>>,
    /// Ids of the entries that have a meta, by place.
    order: RedBlackTreeMapSync<u64, Text>,
    nodes: Nodes,
    globals: HashTrieMapSync<Text, Json>,
    /// Gives places and the numbers of histories; never goes back.
    counter: u64,
}

impl State {
    pub(super) fn entry(&self, id: &Text) -> Option<&Entry> {
        self.entries.get(id).map(|entry| &**entry)
    }

    /// The entry with all its records in one list.
    pub(super) fn joined(&mut self, id: &Text) -> Option<&Entry> {
        if !self.entry(id)?.is_joined() {
            self.change(id, Entry::join);
        }
        self.entry(id)
    }

    /// Joins what needs no copy: after a commit nobody else holds the lists it has changed.
    pub(super) fn join_in_place(&mut self, ids: &[Text]) {
        for id in ids {
            self.change(id, Entry::join_in_place);
        }
    }

    pub(super) fn session(&self, id: &Text) -> Option<SessionMeta> {
        self.entry(id)?.meta.as_ref().map(|(_, meta)| meta.clone())
    }

    pub(super) fn sessions(&self, filter: &SessionFilter) -> Vec<SessionMeta> {
        self.listed(filter).map(|(meta, _)| meta.clone()).collect()
    }

    pub(super) fn digests(&self, filter: &SessionFilter) -> Vec<SessionDigest> {
        self.listed(filter)
            .map(|(meta, entry)| SessionDigest {
                id: meta.id.clone(),
                label: meta.label.clone(),
                status: meta.status,
                memory: entry.memory.clone(),
                insight: entry.insight.clone(),
            })
            .collect()
    }

    pub(super) fn l2s(&self) -> Vec<ChildL2Summary> {
        let children = SessionFilter {
            status: Some(Status::Active),
            role: Some(Kind::Standard),
            tags: None,
        };
        self.listed(&children)
            .filter_map(|(meta, entry)| {
                Some(ChildL2Summary {
                    session_id: meta.id.clone(),
                    label: meta.label.clone(),
                    l2: entry.memory.clone()?,
                })
            })
            .collect()
    }

    pub(super) fn node(&self, id: &Text) -> Option<TopologyNode> {
        self.nodes.get(id)
    }

    pub(super) fn children(&self, parent_id: Option<&Text>) -> Vec<TopologyNode> {
        self.nodes.children(parent_id)
    }

    pub(super) fn global(&self, key: &Text) -> Option<Json> {
        self.globals.get(key).cloned()
    }

    /// No write can fail, which is what makes a list of them whole.
    pub(super) fn apply(&mut self, writes: Vec<Write>) {
        for write in writes {
            self.apply_one(write);
        }
    }

    fn apply_one(&mut self, write: Write) {
        match write {
            Write::PutSession(meta) => self.put_session(meta),
            Write::PutSystemPrompt { id, content } => {
                self.put(id, |e| e.system_prompt = Some(content));
            }
            Write::AppendRecord { id, record } => self.put(id, |e| e.append(record)),
            Write::TrimRecords { id, keep_recent } => self.change(&id, |e| e.trim(keep_recent)),
            Write::PutInsight { id, content } => self.put(id, |e| e.insight = Some(content)),
            Write::ClearInsight { id } => self.change(&id, |e| e.insight = None),
            Write::ClearInsightIf { id, content } => {
                self.change(&id, |e| drop(e.insight.take_if(|i| *i == content)));
            }
            Write::PutMemory { id, content } => self.put(id, |e| e.memory = Some(content)),
            Write::PutNode(node) => {
                self.counter += 1;
                self.nodes.put(node, self.counter);
            }
            Write::RemoveNode { id } => self.nodes.remove(&id),
            Write::PutGlobal { key, value } => self.globals.insert_mut(key, value),
            Write::PutCompressionCache { id, cache } => self.put(id, |e| e.put_cache(cache)),
            Write::DeleteSession { id } => self.delete_session(&id),
        }
    }

    fn put_session(&mut self, meta: SessionMeta) {
        let id = meta.id.clone();
        let known = self.entry(&id).and_then(|entry| entry.meta.as_ref());
        let place = if let Some((place, _)) = known {
            *place
        } else {
            self.counter += 1;
            self.order.insert_mut(self.counter, id.clone());
            self.counter
        };
        self.put(id, |e| e.meta = Some((place, meta)));
    }

    fn delete_session(&mut self, id: &Text) {
        if let Some((place, _)) = self.entry(id).and_then(|entry| entry.meta.as_ref()) {
            let place = *place;
            self.order.remove_mut(&place);
        }
        self.entries.remove_mut(id);
        self.nodes.remove(id);
    }

    fn change(&mut self, id: &Text, how: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(id) {
            how(Arc::make_mut(entry));
        }
    }

    fn put(&mut self, id: Text, how: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(&id) {
            how(Arc::make_mut(entry));
        } else {
            self.counter += 1;
            let mut entry = Entry::new(self.counter);
            how(&mut entry);
            self.entries.insert_mut(id, Arc::new(entry));
        }
    }

    fn listed<'a>(
        &'a self,
        filter: &'a SessionFilter,
    ) -> impl Iterator<Item = (&'a SessionMeta, &'a Entry)> {
        self.order
            .values()
            .filter_map(|id| self.entry(id))
            .filter_map(|entry| Some((&entry.meta.as_ref()?.1, entry)))
            .filter(|(meta, _)| rows::accepts(filter, meta))
    }
}
