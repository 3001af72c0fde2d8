//! A statement, and what its rows mean.
//!
//! Statements are unnamed and carry their types, so that no connection has to remember them: a pooler in transaction
//! mode gives each to another one.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use tokio_postgres::{
    Client, Error as Driver, Row,
    types::{FromSql, ToSql, Type},
};

use super::fault;
use crate::error::Result;

/// A statement, and what its rows mean.
pub(super) struct Read<T> {
    sql: String,
    params: Vec<Param>,
    decode: Box<dyn FnOnce(Vec<Row>) -> Result<T> + Send + Sync>,
}

enum Param {
    Text(Option<String>),
    Number(i64),
}

impl<T> Read<T> {
    pub(super) fn new(
        sql: String,
        decode: impl FnOnce(Vec<Row>) -> Result<T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            sql,
            params: Vec::new(),
            decode: Box::new(decode),
        }
    }

    pub(super) fn text(self, value: &str) -> Self {
        self.optional_text(Some(value))
    }

    pub(super) fn optional_text(mut self, value: Option<&str>) -> Self {
        self.params.push(Param::Text(value.map(str::to_owned)));
        self
    }

    pub(super) fn number(mut self, value: u64) -> Self {
        let signed = i64::try_from(value).unwrap_or(i64::MAX);
        self.params.push(Param::Number(signed));
        self
    }

    pub(super) async fn ask(&self, client: &Client) -> Result<Vec<Row>, Driver> {
        let params = self.params.iter().map(|param| match param {
            Param::Text(text) => (text as &(dyn ToSql + Sync), Type::TEXT),
            Param::Number(number) => (number as &(dyn ToSql + Sync), Type::INT8),
        });
        let rows = pin!(client.query_typed_raw(&self.sql, params).await?);
        rows.try_collect().await
    }

    pub(super) fn decode(self, rows: Vec<Row>) -> Result<T> {
        (self.decode)(rows)
    }
}

pub(super) fn one<T>(rows: &[Row], read: impl FnOnce(&Row) -> Result<T>) -> Result<Option<T>> {
    rows.first().map(read).transpose()
}

pub(super) fn many<T>(rows: &[Row], read: impl Fn(&Row) -> Result<T>) -> Result<Vec<T>> {
    rows.iter().map(read).collect()
}

pub(super) fn text(row: &Row, column: usize) -> Result<&str> {
    get(row, column)
}

pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|error| fault::of(&error))
}
