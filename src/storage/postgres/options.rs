//! What an application says about its database.

use std::{fmt, time::Duration};

use crate::{
    error::{Error, Result},
    storage::limit::DEFAULT_TRANSACTION_TIMEOUT,
};

#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database?sslmode=…`, or pairs such as `host=… user=…`.
    ///
    /// `sslmode` is as for other PostgreSQL clients: `disable`, `prefer` (the default) and `require` encrypt without a
    /// look at the certificate, `verify-ca` looks at its issuer, `verify-full` at the host name too. `sslrootcert` names a
    /// PEM file to trust in place of the system's certificates.
    pub connection_string: String,
    /// The schema that holds the tables; made where there is none. Default `stello`.
    pub schema: String,
    /// Default 10.
    pub max_connections: usize,
    /// How long to wait for a connection, in the pool or on the network. Default 10 s.
    pub connect_timeout: Duration,
    /// How long one statement may take, waiting for locks included. Default 60 s.
    pub statement_timeout: Duration,
    /// How long a transaction may stay open. Default 60 s.
    pub transaction_timeout: Duration,
}

impl PostgresOptions {
    #[must_use]
    pub fn new(connection_string: impl Into<String>) -> Self {
        Self {
            connection_string: connection_string.into(),
            schema: "stello".to_owned(),
            max_connections: 10,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_mins(1),
            transaction_timeout: DEFAULT_TRANSACTION_TIMEOUT,
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The connection string holds a password.
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("max_connections", &self.max_connections)
            .field("connect_timeout", &self.connect_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("transaction_timeout", &self.transaction_timeout)
            .finish_non_exhaustive()
    }
}

/// A schema's name as it stands in SQL.
pub(super) fn quote_schema(schema: &str) -> Result<String> {
    // PostgreSQL cuts longer names (NAMEDATALEN is 64) instead of refusing them.
    if schema.is_empty() || schema.len() > 63 || schema.contains('\0') || schema.starts_with("pg_")
    {
        return Err(Error::InvalidArgument(format!(
            "schema: expected a name of 1 to 63 bytes that does not begin with pg_, got {schema:?}"
        )));
    }
    Ok(format!("\"{}\"", schema.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_shown_without_the_password() {
        let shown = format!("{:?}", PostgresOptions::new("postgres://u:hunter2@h/d"));
        assert!(
            shown.contains("stello") && !shown.contains("hunter2"),
            "{shown}"
        );
    }

    #[test]
    fn a_schema_is_quoted_or_refused() {
        assert_eq!(
            quote_schema("a\"; DROP TABLE x; --").unwrap(),
            "\"a\"\"; DROP TABLE x; --\""
        );
        for wrong in ["", "pg_x", "a\0b", &"x".repeat(64)] {
            assert!(quote_schema(wrong).is_err(), "{wrong}");
        }
    }
}
