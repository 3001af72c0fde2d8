//! `{ toolResults: [{ toolCallId, toolName, args, success, data, error }] }`, read as leniently as JavaScript would.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::text::{Text, excerpt};

/// One result as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// `None` where it is missing or not a string.
    pub id: Option<Text>,
    pub name: Option<Text>,
    pub success: bool,
    pub content: Text,
}

/// The last of several values of one key counts, as in `JSON.parse`.
type Object<'a> = HashMap<String, &'a RawValue>;

/// Reads the list; the error says what is not as documented.
pub(super) fn parse_list(json: &str) -> Result<Vec<Given>, String> {
    let object: Object<'_> = read(json, "input", "an object with toolResults")?;
    let list = object
        .get("toolResults")
        .ok_or_else(|| "toolResults: expected an array, got nothing".to_owned())?;
    let list: Vec<&RawValue> = read(list.get(), "toolResults", "an array")?;
    let results = list.iter().enumerate();
    results
        .map(|(n, raw)| {
            let path = format!("toolResults[{n}]");
            read(raw.get(), &path, "an object").map(|object| given(&object))
        })
        .collect()
}

fn read<'a, T: Deserialize<'a>>(json: &'a str, path: &str, expected: &str) -> Result<T, String> {
    serde_json::from_str(json)
        .map_err(|_| format!("{path}: expected {expected}, got {}", excerpt(json)))
}

fn given(object: &Object<'_>) -> Given {
    let field = |name| object.get(name).map_or("null", |raw| raw.get());
    let success = is_truthy(field("success"));
    let content = if success {
        match field("data") {
            "null" => Text::default(),
            data => string_or_json(data),
        }
    } else {
        match field("error") {
            "null" => Text::from("Unknown error"),
            error => string_or_json(error),
        }
    };
    Given {
        id: Text::from_json(field("toolCallId")),
        name: Text::from_json(field("toolName")),
        success,
        content,
    }
}

fn string_or_json(raw: &str) -> Text {
    Text::from_json(raw).unwrap_or_else(|| Text::from(compact(raw)))
}

/// `Boolean(value)` of a JSON value.
fn is_truthy(raw: &str) -> bool {
    match raw {
        "null" | "false" | "\"\"" => false,
        _ if raw.starts_with(['-', '0']) => raw.parse::<f64>().is_ok_and(|number| number != 0.0),
        _ => true,
    }
}

/// JSON without the blanks between its parts, as `JSON.stringify` writes it.
fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if matches!(c, ' ' | '\n' | '\r' | '\t') {
            continue;
        } else {
            in_string = c == '"';
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(json: &str) -> Given {
        let list = format!("{{\"toolResults\":[{json}]}}");
        parse_list(&list).unwrap().remove(0)
    }

    #[test]
    fn the_content_of_a_success_is_its_data() {
        for (data, content) in [
            (r#""plain\ntext""#, "plain\ntext"),
            (r#""""#, ""),
            ("null", ""),
            ("0", "0"),
            ("false", "false"),
            (
                "{ \"b\" : [ 1e400 ,\n2 ], \"a\": \" x \\\" y \" }",
                r#"{"b":[1e400,2],"a":" x \" y "}"#,
            ),
        ] {
            let json = format!("{{\"toolCallId\":\"c\",\"success\":true,\"data\":{data}}}");
            assert_eq!(one(&json).content.to_plain(), content);
        }
        assert!(one(r#"{"success":true}"#).content.is_empty());
    }

    #[test]
    fn the_content_of_a_failure_is_its_error() {
        for (error, content) in [
            (r#""broke""#, "broke"),
            (r#""""#, ""),
            ("null", "Unknown error"),
            (r#"{"code": 5}"#, r#"{"code":5}"#),
        ] {
            let given = one(&format!(
                "{{\"success\":false,\"data\":1,\"error\":{error}}}"
            ));
            assert_eq!(
                (given.success, given.content.to_plain().as_str()),
                (false, content)
            );
        }
        assert_eq!(one("{}").content, Text::from("Unknown error"));
    }

    #[test]
    fn success_is_what_javascript_takes_for_true() {
        for falsy in ["false", "null", "0", "-0", "0.0e5", "-0.0", "\"\""] {
            assert!(!one(&format!("{{\"success\":{falsy}}}")).success, "{falsy}");
        }
        for truthy in ["true", "1", "-1", "0.5", "\"false\"", "{}", "[]"] {
            assert!(
                one(&format!("{{\"success\":{truthy}}}")).success,
                "{truthy}"
            );
        }
    }

    #[test]
    fn an_id_that_is_not_a_string_is_none() {
        for id in ["null", "7", "{}", "[\"c\"]"] {
            assert_eq!(one(&format!("{{\"toolCallId\":{id}}}")).id, None);
        }
        assert_eq!(
            one("{\"toolCallId\":\"a\",\"toolCallId\":\"\\u0062\"}").id,
            Some(Text::from("b"))
        );
    }

    #[test]
    fn a_wrong_shape_is_refused_with_its_place() {
        for (json, place) in [
            ("[]", "input:"),
            ("{}", "toolResults:"),
            (r#"{"toolResults":{}}"#, "toolResults:"),
            (r#"{"toolResults":[{},null]}"#, "toolResults[1]:"),
            (r#"{"toolResults":[1]} "#, "toolResults[0]:"),
        ] {
            let problem = parse_list(json).unwrap_err();
            assert!(problem.starts_with(place), "{problem}");
        }
    }
}
