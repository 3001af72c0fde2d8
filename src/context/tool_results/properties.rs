//! What holds of any text that might be tool results, before any history.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a property fails by panicking"
)]

use super::{Reading, read_object, read_text};
use crate::{
    choices::Choices,
    context::{sample, tool_groups},
    error::Error,
    message::{Message, Role},
    text::{Text, properties::message},
};

/// A text answers every open call exactly once, or says which it does not, or is what a user typed; as an object it
/// means the same.
pub fn tool_results(data: &[u8]) {
    let mut choices = Choices::new(data);
    let (complete, anything) = (choices.flag(), choices.flag());
    let history = sample::history(&mut choices, 12);
    let json = if anything {
        String::from_utf8_lossy(choices.rest()).into_owned()
    } else {
        envelope(&mut choices)
    };
    let as_text = read_text(
        &Text::from(json.as_str()),
        history.as_slice(),
        complete,
        None,
    );
    let as_object = read_object(&json, history.as_slice(), None);
    match as_text {
        Ok(Reading::Results(messages)) => {
            assert_eq!(messages, as_object.unwrap());
            check(&history, messages);
        }
        Ok(Reading::UserText) => {
            let names_open = as_object.is_ok_and(|messages| !messages.is_empty());
            assert!(!names_open, "{json}");
        }
        Ok(Reading::NeedsOlder) => assert!(!complete && as_object.is_err(), "{json}"),
        Err(error) => {
            assert!(matches!(error, Error::ToolResults(_)), "{error:?}");
            assert!(as_object.is_err(), "{json}");
        }
    }
}

fn check(history: &[Message], messages: Vec<Message>) {
    let cleaned = tool_groups::clean(history);
    let pending = cleaned.pending.unwrap();
    assert_eq!(messages.len(), pending.open_calls.len());
    for answer in &messages {
        message(answer, answer.json());
        assert_eq!(answer.role(), Role::Tool);
    }
    let answered = [history.to_vec(), messages].concat();
    let cleaned = tool_groups::clean(answered.as_slice());
    assert_eq!(cleaned.pending, None);
    assert_eq!(
        cleaned.units.last().unwrap().records,
        pending.unit.records.start..answered.as_slice().len()
    );
}

/// An envelope such as `@stello-ai/core` sends, right in most of its fields.
fn envelope(choices: &mut Choices<'_>) -> String {
    let ids = [
        "\"x\"",
        "\"y\"",
        "\"z\"",
        "\"\\u0078\"",
        "\"w\"",
        "null",
        "7",
    ];
    let names = ["\"t_x\"", "\"t_y\"", "null", "{}"];
    let values = [
        "true",
        "false",
        "null",
        "0",
        "-0.0",
        "1e400",
        "\"\"",
        "\"a\\n\"",
        "\"\\ud83c\"",
        "{ \"b\" : [ 1 ] }",
        "[]",
    ];
    let mut json = String::from("{\"toolResults\":[");
    for at in 0..choices.below(5) {
        if at > 0 {
            json.push(',');
        }
        json.push_str("{\"args\":{}");
        for (name, given) in [
            ("toolCallId", &ids[..]),
            ("toolName", &names[..]),
            ("success", &values[..]),
            ("data", &values[..]),
            ("error", &values[..]),
        ] {
            if choices.below(8) < 7 {
                let value = choices.pick(given);
                json.push_str(",\"");
                json.push_str(name);
                json.push_str("\":");
                json.push_str(value);
            }
        }
        json.push('}');
    }
    json.push_str("]}");
    json
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_text_answers_the_open_calls_or_says_why_not_or_is_a_users() {
        crate::choices::hold("tool_results", super::tool_results);
    }
}
