//! What holds of whatever a server sends.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a property fails by panicking"
)]

use std::{collections::BTreeMap, sync::LazyLock};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::value::RawValue;

use super::{
    Chunk, Completion, Joiner, ToolCallDelta,
    http::{Endpoint, Limits, Reply, Secret, events},
    reading::{self, Decode},
};
use crate::{
    choices::{Choices, cut},
    error::LlmError,
    text::{Text, properties::check},
};

/// Events are those of the standard, wherever the body is cut.
pub fn sse(data: &[u8]) {
    let mut choices = Choices::new(data);
    let lengths = choices.bytes();
    let body = choices.rest();
    let expected = reference(body);
    assert_eq!(read_events(vec![body.to_vec()]), expected);
    assert_eq!(read_events(cut(body, lengths)), expected, "cut");
    assert_eq!(read_events(cut(body, &[0])), expected, "byte by byte");
}

fn read_events(pieces: Vec<Vec<u8>>) -> Vec<(Option<String>, String)> {
    let source = stream::iter(
        pieces
            .into_iter()
            .map(|piece| Ok(bytes::Bytes::from(piece))),
    );
    let events: Vec<_> = events(source).collect().now_or_never().unwrap();
    let events = events.into_iter().map(|event| event.unwrap());
    events.map(|event| (event.name, event.data)).collect()
}

/// The standard's own algorithm over the whole body; a last event counts without its blank line.
fn reference(body: &[u8]) -> Vec<(Option<String>, String)> {
    let text = String::from_utf8_lossy(body)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut events = Vec::new();
    let (mut name, mut data) = (String::new(), String::new());
    for line in text.split('\n').chain([""]) {
        if line.is_empty() {
            let ended = std::mem::take(&mut data);
            let name = std::mem::take(&mut name);
            let ended = ended.strip_suffix('\n').unwrap_or_default();
            if !ended.is_empty() {
                events.push(((!name.is_empty()).then_some(name), ended.to_owned()));
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "data" => {
                data.push_str(value);
                data.push('\n');
            }
            _ => {}
        }
    }
    events
}

/// See [`answer`].
pub fn openai(data: &[u8]) {
    answer(data, super::openai::decoder);
}

/// See [`answer`].
pub fn anthropic(data: &[u8]) {
    answer(data, super::anthropic::decoder);
}

/// So many bytes of an answer come one by one.
const FINELY: usize = 100;

/// Whatever a server answers is read the same wherever it is cut, and is an error by its code or an answer that holds.
fn answer<D: Decode>(data: &[u8], decoder: fn() -> D) {
    let mut choices = Choices::new(data);
    let kind = choices.pick(&["text/event-stream", "application/json", "text/html", ""]);
    let lengths = choices.bytes();
    let body = choices.rest();
    let (start, rest) = body.split_at(body.len().min(FINELY));
    let fine = [cut(start, &[0]), cut(rest, lengths)].concat();
    let read = |pieces: Vec<Vec<u8>>| {
        let streamed = streamed(kind, pieces.clone(), &mut decoder());
        let whole = whole(kind, pieces, &mut decoder());
        (outcome(streamed), outcome((Vec::new(), whole)))
    };
    let expected = read(vec![body.to_vec()]);
    assert_eq!(read(cut(body, lengths)), expected);
    assert_eq!(read(fine), expected);
}

type Outcome = (
    Vec<Chunk>,
    Result<Completion, (String, String, Option<String>)>,
);

fn outcome((chunks, result): (Vec<Chunk>, Result<Completion, LlmError>)) -> Outcome {
    if let Ok(completion) = &result {
        check_completion(completion);
        if !chunks.is_empty() {
            let mut again = Joiner::new("again");
            for chunk in &chunks {
                again.push(chunk);
            }
            assert_eq!(
                &again.finish().unwrap(),
                completion,
                "joined from what was given on"
            );
        }
    }
    let result = result.map_err(|error| {
        assert!(
            !error.code.is_empty() && !error.message.is_empty(),
            "{error:?}"
        );
        (error.code, error.message, error.kind)
    });
    (chunks, result)
}

static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| {
    let key = Secret::new("sk-0123456789");
    Endpoint::new("provider", "http://127.0.0.1", "/", &key, Limits::default()).unwrap()
});

fn wait<T>(work: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    }
    RUNTIME.with(|runtime| runtime.block_on(work))
}

fn streamed(
    kind: &str,
    pieces: Vec<Vec<u8>>,
    decoder: &mut dyn Decode,
) -> (Vec<Chunk>, Result<Completion, LlmError>) {
    let mut chunks = Vec::new();
    let result = wait(async {
        let reply = Reply::canned(&ENDPOINT, kind, pieces);
        let mut sink = |chunk| chunks.push(chunk);
        reading::streamed(&ENDPOINT, reply, decoder, &mut sink).await
    });
    let result = result.and_then(Joiner::finish);
    (chunks, result)
}

fn whole(
    kind: &str,
    pieces: Vec<Vec<u8>>,
    decoder: &mut dyn Decode,
) -> Result<Completion, LlmError> {
    wait(reading::whole(
        &ENDPOINT,
        Reply::canned(&ENDPOINT, kind, pieces),
        decoder,
    ))
}

/// Reads a streamed answer of an `OpenAI` server.
pub fn read(pieces: Vec<Vec<u8>>) -> Result<Completion, LlmError> {
    streamed("", pieces, &mut super::openai::decoder()).1
}

fn check_completion(completion: &Completion) {
    for call in &completion.tool_calls {
        check(&call.id);
        check(&call.name);
        assert!(!call.name.is_empty());
        let input: &RawValue = serde_json::from_str(&call.input).unwrap();
        assert!(
            input.get() == &*call.input && call.input.is_object(),
            "{:?}",
            call.input
        );
    }
    let texts = [
        &completion.content,
        &completion.finish_reason,
        &completion.reasoning_content,
    ];
    texts.into_iter().flatten().for_each(check);
}

/// Fragments make the same calls however many come at a time; each is given on under the number of its call, and
/// nothing of it is lost.
pub fn tool_calls(data: &[u8]) {
    let mut choices = Choices::new(data);
    let mut deltas = Vec::new();
    while !choices.is_over() && deltas.len() < 64 {
        deltas.push(delta(&mut choices));
    }
    let chunk = |deltas: &[ToolCallDelta]| Chunk {
        tool_call_deltas: deltas.to_vec(),
        ..Chunk::default()
    };
    let (mut at_once, mut singly, mut numbered) =
        (Joiner::new("a"), Joiner::new("a"), Joiner::new("a"));
    at_once.push(&chunk(&deltas));
    let mut given = Vec::new();
    for delta in &deltas {
        let mut piece = chunk(std::slice::from_ref(delta));
        singly.push(&piece);
        numbered.push_and_number(&mut piece);
        given.extend(piece.tool_call_deltas);
    }
    let mut again = Joiner::new("a");
    again.push(&chunk(&given));
    let results = [at_once, singly, numbered, again]
        .map(|joiner| joiner.finish().map_err(|error| error.code));
    for other in &results[1..] {
        assert_eq!(&results[0], other, "{deltas:?} {given:?}");
    }
    let Ok(completion) = &results[0] else {
        return;
    };
    check_completion(completion);
    let mut inputs: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
    let mut order = Vec::new();
    for delta in &given {
        let said = [&delta.id, &delta.name, &delta.input]
            .into_iter()
            .flatten()
            .any(|text| !text.is_empty());
        let index = delta.index.unwrap();
        if said && !order.contains(&index) {
            order.push(index);
        }
        inputs
            .entry(index)
            .or_default()
            .extend(delta.input.iter().flat_map(Text::to_utf16));
    }
    assert_eq!(order.len(), completion.tool_calls.len());
    for (index, call) in order.iter().zip(&completion.tool_calls) {
        let input = String::from_utf16_lossy(&inputs[index]);
        let input = match input.trim() {
            "" | "null" => "{}",
            input => input,
        };
        // Half a surrogate pair is written as its escape in a document.
        assert!(
            input == &*call.input || input.contains('\u{fffd}'),
            "{input} {:?}",
            call.input
        );
    }
}

fn delta(choices: &mut Choices<'_>) -> ToolCallDelta {
    let index = choices.pick(&[None, Some(0), Some(0), Some(1), Some(2), Some(u32::MAX)]);
    let id = choices.pick(&[None, None, Some(""), Some("a"), Some("b"), Some("c")]);
    let name = choices.pick(&[None, None, Some(""), Some("f"), Some("g")]);
    let fragments = [
        "", "{}", "{", "}", "\"", "\\", "\"k\":", "1", "[", "]", ",", " ", "{\"a\":", "null", "🎉",
        "é",
    ];
    let input = match choices.below(8) {
        0 => None,
        1 => Some(choices.text()),
        n => Some(Text::from(
            (1..n).map(|_| choices.pick(&fragments)).collect::<String>(),
        )),
    };
    ToolCallDelta {
        index,
        id: id.map(Text::from),
        name: name.map(Text::from),
        input,
    }
}

#[cfg(test)]
mod tests {
    use crate::choices::hold;

    #[test]
    fn events_are_those_of_the_standard_wherever_they_are_cut() {
        hold("sse", super::sse);
    }

    #[test]
    fn any_answer_of_an_openai_server_is_an_error_by_its_code_or_holds() {
        hold("openai", super::openai);
    }

    #[test]
    fn any_answer_of_an_anthropic_server_is_an_error_by_its_code_or_holds() {
        hold("anthropic", super::anthropic);
    }

    #[test]
    fn fragments_of_tool_calls_make_the_same_calls_however_they_come() {
        hold("tool_calls", super::tool_calls);
    }
}
