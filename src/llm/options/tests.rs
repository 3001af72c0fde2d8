use super::*;
use crate::llm::{anthropic, openai};

fn none(_: &str) -> Option<String> {
    None
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(Error::InvalidArgument(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wrong_option_is_refused_by_its_name() {
    for (json, start) in [
        ("[]", "options: "),
        (r#"{"model":7}"#, "model: expected a string, got 7"),
        (r#"{"apiKey":{"k":"sk-1"}}"#, "apiKey: expected a string"),
        (r#"{"baseURL":1}"#, "baseURL: "),
        (
            r#"{"maxContextTokens":0}"#,
            "maxContextTokens: expected a positive integer, got 0",
        ),
        (r#"{"maxOutputTokens":1.5}"#, "maxOutputTokens: "),
        (
            r#"{"maxRetries":-1}"#,
            "maxRetries: expected a non-negative integer",
        ),
        (r#"{"temperature":"hot"}"#, "temperature: "),
        (
            r#"{"timeoutMs":0}"#,
            "timeoutMs: expected a positive number",
        ),
        (r#"{"idleTimeoutMs":"1"}"#, "idleTimeoutMs: "),
        (
            r#"{"headers":{"a":1}}"#,
            "headers[\"a\"]: expected a string",
        ),
        (r#"{"headers":["a"]}"#, "headers: expected an object"),
        (r#"{"extraBody":1}"#, "extraBody: expected an object"),
        (r#"{"echoReasoning":1}"#, "echoReasoning: "),
    ] {
        let message = refused(Options::parse(json));
        assert!(message.starts_with(start), "{message}");
        assert!(!message.contains("sk-1"), "{message}");
    }
}

#[test]
fn what_is_not_given_has_its_default() {
    let options = Options::parse(r#"{"model":null,"maxRetries":null}"#).unwrap();
    assert_eq!(options.limits, Limits::default());
    assert!(options.model.is_none() && options.api_key.is_none() && options.headers.is_empty());
    let options =
        Options::parse(r#"{"maxRetries":0,"timeoutMs":1.5,"idleTimeoutMs":2000}"#).unwrap();
    assert_eq!(options.limits.max_retries, 0);
    assert_eq!(options.limits.timeout, Duration::from_micros(1_500));
    assert_eq!(options.limits.idle_timeout, Duration::from_secs(2));
}

#[test]
fn what_a_factory_needs_is_asked_for() {
    let parse = |json| Options::parse(json).unwrap();
    let env = Env(&none);
    assert!(refused(openai::gpt(parse("{}"), env)).starts_with("model: missing"));
    assert!(refused(openai::gpt(parse(r#"{"model":"gpt-4o"}"#), env)).contains("OPENAI_API_KEY"));
    assert!(
        refused(anthropic::claude(
            parse(r#"{"model":"claude-sonnet-4-20250514"}"#),
            env
        ))
        .contains("ANTHROPIC_API_KEY")
    );
    assert!(
        refused(openai::gpt(parse(r#"{"model":"gpt-9","apiKey":"k"}"#), env))
            .contains("gpt-4o-mini, gpt-4.1")
    );
    let compatible = r#"{"model":"m","apiKey":"k","maxContextTokens":1}"#;
    assert!(refused(openai::compatible(parse(compatible), env)).starts_with("baseURL: missing"));
    let compatible = r#"{"model":"m","apiKey":"k","baseURL":"http://h"}"#;
    assert!(
        refused(openai::compatible(parse(compatible), env))
            .starts_with("maxContextTokens: missing")
    );
    assert!(
        refused(anthropic::adapter(parse(compatible), env))
            .starts_with("maxContextTokens: missing")
    );
}

#[test]
fn the_environment_fills_in() {
    let set = |name: &str| {
        Some(match name {
            "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" => " from-env\n".to_owned(),
            "OPENAI_BASE_URL" => "https://proxy/v1".to_owned(),
            "OPENAI_ORG_ID" => "org".to_owned(),
            "OPENAI_PROJECT_ID" => " ".to_owned(),
            "ANTHROPIC_BASE_URL" => "https://claude/v1/".to_owned(),
            _ => return None,
        })
    };
    let env = Env(&set);
    let parse = |json| Options::parse(json).unwrap();
    let config = openai::gpt(parse(r#"{"model":"gpt-4o"}"#), env).unwrap();
    assert_eq!(
        (
            config.api_key.expose(),
            config.base_url.as_str(),
            config.window_tokens
        ),
        ("from-env", "https://proxy/v1", 128_000)
    );
    assert_eq!(
        config.headers,
        [("openai-organization".to_owned(), "org".to_owned())]
    );
    let config = openai::gpt(
        parse(r#"{"model":"gpt-4o","apiKey":"","baseURL":"https://mine"}"#),
        env,
    )
    .unwrap();
    assert_eq!(
        (config.api_key.is_empty(), config.base_url.as_str()),
        (true, "https://mine")
    );
    let config = anthropic::claude(parse(r#"{"model":"claude-opus-4-20250514"}"#), env).unwrap();
    assert_eq!(
        (
            config.api_key.expose(),
            config.base_url.as_str(),
            config.prompt_cache
        ),
        ("from-env", "https://claude/v1/", true)
    );
    let config = anthropic::adapter(parse(r#"{"model":"m","maxContextTokens":1}"#), env).unwrap();
    assert!(!config.prompt_cache);
    assert_eq!(
        openai::gpt(parse(r#"{"model":"gpt-4o","apiKey":"k"}"#), Env(&none))
            .unwrap()
            .base_url,
        "https://api.openai.com/v1"
    );
}
