//! The forest of sessions, with the children of a node at hand.

use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use crate::{meta::TopologyNode, text::Text};

#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    nodes: HashTrieMapSync<Text, (u64, TopologyNode)>,
    /// Ids by the place at which they were put first.
    children: HashTrieMapSync<Option<Text>, RedBlackTreeMapSync<u64, Text>>,
}

impl Nodes {
    pub(super) fn get(&self, id: &Text) -> Option<TopologyNode> {
        self.nodes.get(id).map(|(_, node)| node.clone())
    }

    pub(super) fn children(&self, parent_id: Option<&Text>) -> Vec<TopologyNode> {
        self.children
            .get(&parent_id.cloned())
            .into_iter()
            .flat_map(RedBlackTreeMapSync::values)
            .filter_map(|id| self.get(id))
            .collect()
    }

    /// `place` is used for a node that is new.
    pub(super) fn put(&mut self, node: TopologyNode, place: u64) {
        let place = self.nodes.get(&node.id).map_or(place, |(place, _)| *place);
        self.remove(&node.id);
        let mut siblings = self
            .children
            .get(&node.parent_id)
            .cloned()
            .unwrap_or_default();
        siblings.insert_mut(place, node.id.clone());
        self.children.insert_mut(node.parent_id.clone(), siblings);
        self.nodes.insert_mut(node.id.clone(), (place, node));
    }

    pub(super) fn remove(&mut self, id: &Text) {
        let Some((place, node)) = self.nodes.get(id) else {
            return;
        };
        let (place, parent_id) = (*place, node.parent_id.clone());
        self.nodes.remove_mut(id);
        if let Some(siblings) = self.children.get(&parent_id) {
            let siblings = siblings.remove(&place);
            if siblings.is_empty() {
                self.children.remove_mut(&parent_id);
            } else {
                self.children.insert_mut(parent_id, siblings);
            }
        }
    }
}
