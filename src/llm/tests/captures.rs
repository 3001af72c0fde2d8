//! Raw responses of real servers, against what a reader written apart from the adapters finds in them.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use serde_json::Value;

use super::{player::Step, *};

#[derive(Debug, Deserialize)]
struct Expected {
    protocol: String,
    stream: bool,
    text: String,
    error: Option<String>,
    status: Option<u16>,
    #[serde(default)]
    calls: Vec<(String, Value)>,
    usage: Option<(f64, f64, Option<f64>)>,
    finish: Option<String>,
    reasoning: Option<String>,
}

async fn replay(name: &str, expected: &Expected, raw: &[u8], piece: usize) {
    let protocol = if expected.protocol == "openai" { O } else { A };
    let mut response = Response::raw(&[]);
    response.steps = raw
        .chunks(piece)
        .map(|bytes| Step::Send(bytes.to_vec()))
        .collect();
    let player = Player::start(vec![response]).await;
    let more = r#","maxRetries":0"#;
    let (text, result) = if expected.stream {
        let outcome = stream_from(protocol, &player, more).await;
        let text = outcome.text();
        let joined = outcome.join();
        (text, outcome.result.and(joined))
    } else {
        let result = complete_from(protocol, &player, more).await;
        let text = result
            .iter()
            .flat_map(|answer| &answer.content)
            .map(Text::to_plain)
            .collect();
        (text, result)
    };
    assert_eq!(text, expected.text, "{name}");
    if let Some(message) = &expected.error {
        let error = result.unwrap_err();
        assert!(error.message.contains(message), "{name}: {error:?}");
        assert_eq!(error.status, expected.status, "{name}");
        return;
    }
    let answer = result.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let calls: Vec<(String, Value)> = answer
        .tool_calls
        .iter()
        .map(|call| {
            (
                call.name.to_plain(),
                serde_json::from_str(&call.input).unwrap(),
            )
        })
        .collect();
    assert_eq!(calls, expected.calls, "{name}");
    let usage = answer.usage.map(|usage| {
        (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_prompt_tokens,
        )
    });
    assert_eq!(usage, expected.usage, "{name}");
    assert_eq!(
        answer.finish_reason.map(|word| word.to_plain()),
        expected.finish,
        "{name}"
    );
    let reasoning = answer.reasoning_content.map(|text| text.to_plain());
    assert_eq!(
        reasoning.unwrap_or_default(),
        expected.reasoning.clone().unwrap_or_default(),
        "{name}"
    );
}

#[tokio::test]
async fn the_answers_of_real_servers_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("__test__/captures");
    let table = fs::read_to_string(folder.join("expected.json")).unwrap();
    let table: BTreeMap<String, Expected> = serde_json::from_str(&table).unwrap();
    assert!(table.len() > 60);
    for (name, expected) in &table {
        let raw = fs::read(folder.join(name)).unwrap();
        for piece in [raw.len(), 5] {
            replay(name, expected, &raw, piece).await;
        }
    }
}
