//! What a connection string says.

use std::{path::PathBuf, time::Duration};

use percent_encoding::percent_decode_str;
use tokio_postgres::{Config, config::SslMode};

use crate::error::{Error, Result};

/// What of the server's certificate is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verify {
    Nothing,
    Issuer,
    IssuerAndHost,
}

/// The parts of a connection string.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) verify: Verify,
    pub(super) root_certificates: Option<PathBuf>,
}

impl Target {
    /// The error never shows the string: it may hold a password in any place.
    pub(super) fn parse(connection_string: &str) -> Result<Self> {
        let mut ours = Ours::default();
        let rest = if connection_string.contains("://") {
            ours.take_from_url(connection_string)
        } else {
            ours.take_from_pairs(connection_string)
        };
        let (mode, verify) = match ours.mode.as_deref() {
            None | Some("prefer" | "allow") => (SslMode::Prefer, Verify::Nothing),
            Some("disable") => (SslMode::Disable, Verify::Nothing),
            // With certificates at hand, others look at the issuer as well.
            Some("require") if ours.root_certificates.is_some() => {
                (SslMode::Require, Verify::Issuer)
            }
            Some("require") => (SslMode::Require, Verify::Nothing),
            Some("verify-ca") => (SslMode::Require, Verify::Issuer),
            Some("verify-full") => (SslMode::Require, Verify::IssuerAndHost),
            Some(_) => {
                let modes = "disable, allow, prefer, require, verify-ca or verify-full";
                let message = format!("connectionString: sslmode: expected {modes}");
                return Err(Error::InvalidArgument(message));
            }
        };
        let mut config: Config = rest.parse().map_err(|_| unreadable())?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(unreadable());
        }
        config.ssl_mode(mode);
        if config.get_application_name().is_none() {
            config.application_name("stello-session");
        }
        // A peer that went silent is noticed within a minute, not within two hours.
        config.keepalives_idle(Duration::from_secs(30));
        config.keepalives_interval(Duration::from_secs(10));
        config.keepalives_retries(3);
        Ok(Self {
            config,
            verify,
            root_certificates: ours.root_certificates.map(PathBuf::from),
        })
    }
}

/// The parameters that the driver does not know or knows only in part.
#[derive(Default)]
struct Ours {
    mode: Option<String>,
    root_certificates: Option<String>,
}

impl Ours {
    fn take(&mut self, name: &str, value: String) -> bool {
        match name {
            "sslmode" => self.mode = Some(value),
            "sslrootcert" if value == "system" => {}
            "sslrootcert" => self.root_certificates = Some(value),
            _ => return false,
        }
        true
    }

    fn take_from_url(&mut self, url: &str) -> String {
        let Some((base, query)) = url.split_once('?') else {
            return url.to_owned();
        };
        let kept: Vec<_> = query
            .split('&')
            .filter(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
                !self.take(name, value)
            })
            .collect();
        if kept.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{}", kept.join("&"))
        }
    }

    fn take_from_pairs(&mut self, text: &str) -> String {
        let mut kept = String::with_capacity(text.len());
        for (name, value) in pairs(text) {
            if !self.take(name, unquote(value)) {
                kept.extend([name, "=", value, " "]);
            }
        }
        kept
    }
}

/// Cuts `name=value` pairs apart; a value may stand in single quotes, with `\` before a quote or another `\`.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let (mut quoted, mut escaped) = (false, false);
        let end = after.find(|c: char| {
            let ends = c.is_whitespace() && !quoted && !escaped;
            quoted ^= c == '\'' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (value, after) = after.split_at(end.unwrap_or(after.len()));
        pairs.push((name.trim(), value));
        rest = after.trim_start();
    }
    if !rest.is_empty() {
        // Not a pair: left to the driver, which refuses it.
        pairs.push((rest, ""));
    }
    pairs
}

fn unquote(value: &str) -> String {
    let inside = value
        .strip_prefix('\'')
        .and_then(|value| value.strip_suffix('\''));
    inside
        .unwrap_or(value)
        .replace("\\'", "'")
        .replace("\\\\", "\\")
}

fn unreadable() -> Error {
    Error::InvalidArgument(
        "connectionString: expected postgres://user:password@host:port/database or pairs such as host=… user=… dbname=…"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_of_encryption_is_read_from_both_forms() {
        let cases = [
            ("postgres://u:p@h/d", SslMode::Prefer, Verify::Nothing, None),
            (
                "postgres://u@h/d?sslmode=disable",
                SslMode::Disable,
                Verify::Nothing,
                None,
            ),
            (
                "postgres://u@h/d?application_name=a&sslmode=require",
                SslMode::Require,
                Verify::Nothing,
                None,
            ),
            (
                "postgres://u@h/d?sslmode=verify-full&sslrootcert=%2Fa%20b.pem",
                SslMode::Require,
                Verify::IssuerAndHost,
                Some("/a b.pem"),
            ),
            (
                "postgres://u@h/d?sslmode=require&sslrootcert=a",
                SslMode::Require,
                Verify::Issuer,
                Some("a"),
            ),
            (
                "postgres://u@h/d?sslmode=verify-full&sslrootcert=system",
                SslMode::Require,
                Verify::IssuerAndHost,
                None,
            ),
            (
                "host=h user=u sslmode=verify-ca",
                SslMode::Require,
                Verify::Issuer,
                None,
            ),
            (
                "host = h sslmode='disable' password='a b sslmode=require \\'' user=u",
                SslMode::Disable,
                Verify::Nothing,
                None,
            ),
        ];
        for (string, mode, verify, roots) in cases {
            let target = Target::parse(string).unwrap();
            assert_eq!(
                (target.config.get_ssl_mode(), target.verify),
                (mode, verify),
                "{string}"
            );
            assert_eq!(
                target.root_certificates,
                roots.map(PathBuf::from),
                "{string}"
            );
        }
        let quoted = Target::parse("host=h password='a b sslmode=require \\'' user=u").unwrap();
        assert_eq!(
            quoted.config.get_password(),
            Some(&b"a b sslmode=require '"[..])
        );
    }

    #[test]
    fn an_unreadable_string_is_refused_without_being_shown() {
        for string in [
            "",
            "hunter2",
            "postgres://u:hunter2@h:port/d",
            "postgres://u:hunter2@h/d?x=1",
            "host=h hunter2",
            "password=hunter2",
            "mysql://u:hunter2@h/d",
            "postgres://u:hunter2@h/d?sslmode=hunter2",
        ] {
            let error = Target::parse(string).err().unwrap();
            assert!(matches!(error, Error::InvalidArgument(_)), "{string}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
