use super::*;
use crate::llm::{anthropic, openai};

#[track_caller]
fn clean(error: &LlmError) {
    let shown = format!("{error:?} {error}");
    assert!(
        !shown.contains(KEY) && !shown.contains("0123456789"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_key_that_the_server_echoes_is_in_no_error() {
    let escaped = KEY.replace('-', "\\u002d");
    let bodies = [
        format!("plain {KEY}"),
        format!(r#"{{"error":{{"message":"bad {KEY}","type":"{KEY}","code":"{KEY}"}}}}"#),
        format!(r#"{{"error":"bad {escaped}"}}"#),
        format!(r#"{{"error":{{"message":"bad {escaped}"}},"request_id":"{KEY}"}}"#),
        format!("{}{KEY}", "x".repeat(990)),
        format!("<html>{KEY}</html>"),
        format!(r#"{{"id": {KEY}"#),
    ];
    for protocol in [O, A] {
        for body in &bodies {
            for status in [200, 401] {
                for kind in ["application/json", "text/html"] {
                    let response =
                        Response::body(status, kind, body).header(&format!("x-request-id: {KEY}"));
                    let player = Player::start(vec![response]).await;
                    clean(&complete_from(protocol, &player, "").await.unwrap_err());
                    clean(&stream_from(protocol, &player, "").await.error());
                }
            }
            let data = format!("event: error\ndata: {body}\n\n");
            clean(
                &stream(protocol, Response::stream(vec![data.into_bytes()]))
                    .await
                    .error(),
            );
        }
    }
}

#[tokio::test]
async fn a_key_as_the_name_of_a_tool_is_in_no_error() {
    let body = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"a","function":{{"name":"{KEY}","arguments":"no"}}}}]}}}}]}}"#
    );
    clean(&complete(O, &body).await.unwrap_err());
}

#[tokio::test]
async fn a_key_in_a_header_of_the_user_is_a_secret_too() {
    let body = r#"{"error":{"message":"bad azure-key-123456"}}"#;
    let player = Player::start(vec![Response::json(401, body)]).await;
    let error = complete_from(O, &player, r#","headers":{"api-key":"azure-key-123456"}"#)
        .await
        .unwrap_err();
    assert_eq!(error.message, "401 bad ***");
}

#[test]
fn configurations_print_no_key() {
    let json = format!(
        r#"{{"model":"m","apiKey":"{KEY}","baseURL":"https://h?key={KEY}","maxContextTokens":1,"headers":{{"api-key":"{KEY}"}}}}"#
    );
    let options = Options::parse(&json).unwrap();
    let env = Env(&|_| None);
    let openai = openai::compatible(options.clone(), env).unwrap();
    let anthropic = anthropic::adapter(options.clone(), env).unwrap();
    let shown = format!("{options:?} {openai:?} {anthropic:?}");
    assert!(!shown.contains(KEY), "{shown}");
}
