//! What all handles on one session of one storage share: its metadata, its archived state, its queue.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError, RwLock, Weak,
        atomic::{AtomicU32, Ordering},
    },
};

use super::queue::Queue;
use crate::{
    error::{Error, Result},
    meta::{SessionMeta, Status},
    text::Text,
};

/// The sessions of one storage object that somebody holds a handle on.
#[derive(Debug, Default)]
pub struct Registry {
    sessions: Mutex<HashMap<Text, Weak<Shared>>>,
    /// The ids under which a session is being made.
    making: Mutex<HashSet<Text>>,
}

/// The right to make a session of this id, until it is dropped.
#[derive(Debug)]
pub struct Making<'a> {
    registry: &'a Registry,
    id: Text,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.registry.lock_making().remove(&self.id);
    }
}

#[derive(Debug)]
pub struct Shared {
    id: Text,
    meta: RwLock<Arc<SessionMeta>>,
    version: AtomicU32,
    queue: Arc<Queue>,
    /// Held while metadata is read, changed and stored, so that two changes at once both count.
    pub(super) changing: tokio::sync::Mutex<()>,
    registry: Weak<Registry>,
}

impl Registry {
    /// The shared part of session `meta.id`; where it is known already, `meta` becomes its current metadata.
    pub fn share(self: &Arc<Self>, meta: SessionMeta) -> Arc<Shared> {
        let known = self.lock().get(&meta.id).and_then(Weak::upgrade);
        if let Some(shared) = known {
            shared.set_meta(meta);
            return shared;
        }
        let shared = Arc::new(Shared {
            id: meta.id.clone(),
            meta: RwLock::new(Arc::new(meta)),
            version: AtomicU32::new(0),
            queue: Arc::default(),
            changing: tokio::sync::Mutex::default(),
            registry: Arc::downgrade(self),
        });
        // Of two handles made at the same moment the first one's shared part serves both.
        let (winner, replaced) = {
            let mut sessions = self.lock();
            let current = sessions.get(&shared.id).and_then(Weak::upgrade);
            if let Some(current) = current {
                (current, Some(shared))
            } else {
                sessions.insert(shared.id.clone(), Arc::downgrade(&shared));
                (shared, None)
            }
        };
        drop(replaced);
        winner
    }

    /// `None` while somebody else makes a session of this id.
    pub fn make(&self, id: &Text) -> Option<Making<'_>> {
        let free = self.lock_making().insert(id.clone());
        free.then(|| Making {
            registry: self,
            id: id.clone(),
        })
    }

    fn lock_making(&self) -> std::sync::MutexGuard<'_, HashSet<Text>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many sessions somebody holds a handle on.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Text, Weak<Shared>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    pub fn id(&self) -> &Text {
        &self.id
    }

    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    pub fn meta(&self) -> Arc<SessionMeta> {
        self.meta
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn set_meta(&self, meta: SessionMeta) {
        *self.meta.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(meta);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes whenever the metadata does.
    pub fn version(&self) -> u32 {
        self.version.load(Ordering::Acquire)
    }

    pub fn refuse_archived(&self) -> Result<()> {
        match self.meta().status {
            Status::Active => Ok(()),
            Status::Archived => Err(Error::Archived(self.id.clone())),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(registry) = self.registry.upgrade() else {
            return;
        };
        let mut sessions = registry.lock();
        if sessions
            .get(&self.id)
            .is_some_and(|entry| entry.strong_count() == 0)
        {
            sessions.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::now_iso,
        meta::{Kind, empty_object},
    };

    fn meta(id: &str, status: Status) -> SessionMeta {
        SessionMeta {
            id: Text::from(id),
            label: Text::from("l"),
            role: Kind::Standard,
            status,
            tags: Vec::new(),
            metadata: empty_object(),
            created_at: now_iso(),
            updated_at: now_iso(),
        }
    }

    #[test]
    fn two_handles_on_one_session_share_its_archived_state_and_forget_it_with_the_last() {
        let registry = Arc::new(Registry::default());
        let first = registry.share(meta("a", Status::Active));
        let second = registry.share(meta("a", Status::Active));
        let other = registry.share(meta("b", Status::Active));
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        first.set_meta(meta("a", Status::Archived));
        assert!(second.refuse_archived().is_err() && other.refuse_archived().is_ok());
        drop((first, second, other));
        assert!(registry.is_empty());
    }
}
