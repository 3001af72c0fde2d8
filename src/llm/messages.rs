//! The messages of a request.

use std::{ops::Range, sync::Arc};

use crate::message::Message;

/// Messages in order, as stretches of lists that others keep: a long history is shown without a copy of it.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    stretches: Vec<Stretch>,
}

#[derive(Debug, Clone)]
struct Stretch {
    list: Arc<Vec<Message>>,
    range: Range<usize>,
}

impl Stretch {
    fn messages(&self) -> &[Message] {
        self.list.get(self.range.clone()).unwrap_or_default()
    }
}

impl Messages {
    /// Appends `list[range]`; what of the range lies beyond the list is nothing.
    pub fn push(&mut self, list: Arc<Vec<Message>>, range: Range<usize>) {
        let range = range.start..range.end.min(list.len());
        self.stretches.push(Stretch { list, range });
    }

    pub fn iter(&self) -> impl Iterator<Item = &Message> + Clone {
        self.stretches.iter().flat_map(Stretch::messages)
    }

    /// The messages from the one with the number `at` on.
    pub fn from(&self, at: usize) -> impl Iterator<Item = &Message> + Clone {
        let mut skipped = at;
        let mut stretches = self.stretches.iter();
        let mut begun: &[Message] = &[];
        for stretch in stretches.by_ref() {
            let messages = stretch.messages();
            if let Some(rest) = messages.get(skipped..).filter(|rest| !rest.is_empty()) {
                begun = rest;
                break;
            }
            skipped -= messages.len();
        }
        begun.iter().chain(stretches.flat_map(Stretch::messages))
    }
}

impl From<Vec<Message>> for Messages {
    fn from(list: Vec<Message>) -> Self {
        let range = 0..list.len();
        let mut messages = Self::default();
        messages.push(Arc::new(list), range);
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        message::{MessageBuilder, Role},
        text::Text,
    };

    #[test]
    fn stretches_read_as_one_list_from_wherever_it_is_read() {
        let list = |names: &[&str]| -> Arc<Vec<Message>> {
            let build = |name: &&str| MessageBuilder::new(Role::User, Text::from(*name)).build();
            Arc::new(names.iter().map(build).collect())
        };
        let mut messages = Messages::default();
        messages.push(list(&["a", "b", "c", "d"]), 1..3);
        messages.push(list(&[]), 0..0);
        messages.push(list(&["e"]), 0..7);
        let read = |at| -> Vec<String> {
            messages
                .from(at)
                .map(|message| message.content().to_plain())
                .collect()
        };
        assert_eq!(read(0), ["b", "c", "e"]);
        assert_eq!(read(1), ["c", "e"]);
        assert_eq!(read(2), ["e"]);
        assert_eq!(read(3), [""; 0]);
        assert_eq!(messages.iter().count(), 3);
    }
}
