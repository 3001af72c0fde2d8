//! The thread that owns the connections.
//!
//! One connection writes and, while no transaction is open, reads. While one is open the others read from a second
//! connection, which sees what was committed, and their writes wait here for its end. A file that another process
//! has locked is tried again from here too, so that reads go on meanwhile.

use std::{
    collections::VecDeque,
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::{
    SqliteOptions, fault, file,
    jobs::{Job, Wish, caught},
    writes,
};
use crate::{
    error::{Error, Result, StorageCode, StorageError},
    plant,
    storage::limit::{self, Deadline},
};

/// How long to wait before a locked file is tried again: as SQLite's own handler, short first.
const RETRIES_MS: [u64; 6] = [1, 2, 5, 10, 15, 25];

/// How long the thread looks out for the next job before it sleeps, while jobs come one upon another. To be woken takes
/// about 50 µs on an idle machine (Linux, two cores, 2026-11), as long as the transaction of a turn.
const LOOK_OUT: Duration = Duration::from_micros(100);

/// Jobs come one upon another while they come within this time, being woken included.
const BRISK: Duration = Duration::from_micros(250);

pub(super) struct Worker {
    options: SqliteOptions,
    writer: Option<Connection>,
    reader: Option<Connection>,
    open: Option<(u64, Deadline)>,
    /// With the moment at which the file was first found locked.
    waiting: VecDeque<(Option<Instant>, Wish)>,
    /// How often in a row the file was found locked, and when to look again.
    retry: (usize, Instant),
    last_number: u64,
    /// Whether the last job came right after the one before.
    brisk: bool,
}

impl Worker {
    pub(super) fn new(options: SqliteOptions) -> Self {
        Self {
            options,
            writer: None,
            reader: None,
            open: None,
            waiting: VecDeque::new(),
            retry: (0, Instant::now()),
            last_number: 0,
            brisk: false,
        }
    }

    /// Works until the storage is closed or nobody holds it.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        let closing = loop {
            self.expire();
            self.serve();
            match self.next_job(jobs) {
                Ok(Job::Close(reply)) => break Some(reply),
                Ok(job) => self.accept(job),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        // Closing a connection rolls back what is open.
        drop((self.reader, self.writer));
        for (_, wish) in self.waiting {
            wish.fail(limit::closed());
        }
        while let Ok(job) = jobs.try_recv() {
            job.fail(limit::closed());
        }
        if let Some(reply) = closing {
            let _ = reply.send(Ok(()));
        }
    }

    fn next_job(&mut self, jobs: &Receiver<Job>) -> std::result::Result<Job, RecvTimeoutError> {
        let free_since = Instant::now();
        while self.brisk && free_since.elapsed() < LOOK_OUT {
            match jobs.try_recv() {
                Ok(job) => return Ok(job),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => thread::yield_now(),
            }
        }
        let job = match self.next_look() {
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => jobs.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        self.brisk = job.is_ok() && free_since.elapsed() < BRISK;
        job
    }

    fn accept(&mut self, job: Job) {
        match job {
            Job::Read(work) => work(self.for_reading()),
            Job::Write(writes, reply) => self.wait(Wish::Write(writes, reply)),
            Job::Begin(reply) => self.wait(Wish::Begin(reply)),
            Job::Within(number, work) => {
                work(self.within(number));
                self.forget_ended();
            }
            Job::End {
                number,
                commit,
                reply,
            } => {
                let outcome = self.end(number, commit);
                if let Some(reply) = reply {
                    let _ = reply.send(outcome);
                }
            }
            Job::Close(reply) => {
                let _ = reply.send(Ok(()));
            }
        }
    }

    fn wait(&mut self, wish: Wish) {
        self.waiting.push_back((None, wish));
    }

    /// Does what waits, while nothing is in its way.
    fn serve(&mut self) {
        while self.open.is_none() && self.retry.1 <= Instant::now() {
            let Some((since, wish)) = self.waiting.pop_front() else {
                return;
            };
            match self.lock() {
                Ok(true) => {
                    self.retry.0 = 0;
                    self.grant(wish);
                }
                Ok(false)
                    if since.is_none_or(|since| since.elapsed() < self.options.busy_timeout) =>
                {
                    let pause = RETRIES_MS.get(self.retry.0).copied().unwrap_or(25);
                    let now = Instant::now();
                    self.retry = (self.retry.0 + 1, now + Duration::from_millis(pause));
                    self.waiting.push_front((since.or(Some(now)), wish));
                }
                Ok(false) => wish.fail(fault::locked(self.options.busy_timeout)),
                Err(error) => wish.fail(error),
            }
        }
    }

    /// Begins a transaction; `false` where another process has the file.
    fn lock(&mut self) -> Result<bool> {
        let patience = self.options.busy_timeout;
        let writer = self.writer()?;
        let begin = || {
            writer.busy_timeout(Duration::ZERO)?;
            let begun = writer.prepare_cached("BEGIN IMMEDIATE")?.execute(());
            writer.busy_timeout(patience)?;
            begun
        };
        match begin() {
            Ok(_) => Ok(true),
            Err(error) if fault::is_busy(&error) => Ok(false),
            Err(error) => Err(fault::of(error)),
        }
    }

    fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::Write(writes, reply) => {
                let outcome = caught(|| {
                    let connection = self.writer()?;
                    plant::panic_at("sqlite.write");
                    writes::apply(connection, &writes)
                });
                let outcome = self.finish(outcome);
                let _ = reply.send(outcome);
            }
            Wish::Begin(reply) => {
                self.last_number += 1;
                let deadline = Deadline::after(self.options.transaction_timeout);
                self.open = Some((self.last_number, deadline));
                let prepared = caught(|| self.prepare_reading());
                if let Err(error) = prepared {
                    let _ = self.end(self.last_number, false);
                    let _ = reply.send(Err(error));
                } else if reply.send(Ok((self.last_number, deadline))).is_err() {
                    // Nobody waits for it any more.
                    let _ = self.end(self.last_number, false);
                }
            }
        }
    }

    fn end(&mut self, number: u64, commit: bool) -> Result<()> {
        self.within(number)?;
        self.open = None;
        if file::is_memory(&self.options.path) {
            self.reader = None;
        }
        if commit {
            self.finish(Ok(()))
        } else {
            self.roll_back();
            Ok(())
        }
    }

    /// Commits what went well, rolls back what did not.
    fn finish(&mut self, outcome: Result<()>) -> Result<()> {
        let outcome = caught(|| {
            outcome?;
            plant::panic_at("sqlite.commit");
            let mut commit = self.writer()?.prepare_cached("COMMIT").map_err(fault::of)?;
            commit.execute(()).map(drop).map_err(fault::of)
        });
        if outcome.is_err() {
            self.roll_back();
        }
        outcome
    }

    fn roll_back(&mut self) {
        let Some(writer) = &self.writer else {
            return;
        };
        // Some errors end a transaction by themselves.
        if !writer.is_autocommit() && writer.execute_batch("ROLLBACK").is_err() {
            self.writer = None;
        }
    }

    /// Rolls back the transaction that is open for too long.
    fn expire(&mut self) {
        if let Some((number, deadline)) = self.open
            && deadline.passed()
        {
            let _ = self.end(number, false);
        }
    }

    fn forget_ended(&mut self) {
        if self.writer.as_ref().is_none_or(Connection::is_autocommit) {
            self.open = None;
        }
    }

    fn next_look(&self) -> Option<Instant> {
        match self.open {
            Some((_, deadline)) => Some(deadline.at().into_std()),
            None => (!self.waiting.is_empty()).then_some(self.retry.1),
        }
    }

    fn within(&mut self, number: u64) -> Result<&mut Connection> {
        match self.open {
            Some((open, _)) if open == number => self.writer(),
            _ => Err(Error::Storage(StorageError::new(
                StorageCode::Transaction,
                "the transaction has ended",
            ))),
        }
    }

    /// A `:memory:` database is copied at the beginning of a transaction, for the reads of others.
    fn prepare_reading(&mut self) -> Result<()> {
        plant::panic_at("sqlite.begin");
        if file::is_memory(&self.options.path) {
            self.reader = Some(file::snapshot(self.writer()?)?);
        }
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut Connection> {
        let connection = match self.writer.take() {
            Some(connection) => connection,
            None => file::open(&self.options)?,
        };
        Ok(self.writer.insert(connection))
    }

    fn for_reading(&mut self) -> Result<&mut Connection> {
        if self.open.is_none() {
            return self.writer();
        }
        let connection = match self.reader.take() {
            Some(connection) => connection,
            None => file::reopen(&self.options)?,
        };
        Ok(self.reader.insert(connection))
    }
}
