//! A server that plays responses with exact bytes and cuts.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

#[derive(Debug, Clone)]
pub(super) enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    /// Until the client closes.
    Hang,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The response ends as HTTP says.
    Clean,
    /// The connection is closed before that.
    Cut,
    /// The connection is reset.
    Reset,
}

#[derive(Debug, Clone)]
pub(super) struct Response {
    /// `None`: the connection is closed without a byte.
    pub head: Option<String>,
    pub delay: Duration,
    pub steps: Vec<Step>,
    pub end: End,
    pub chunked: bool,
}

impl Response {
    pub(super) fn stream(pieces: Vec<Vec<u8>>) -> Self {
        Self {
            head: Some("HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n".to_owned()),
            delay: Duration::ZERO,
            steps: pieces.into_iter().map(Step::Send).collect(),
            end: End::Clean,
            chunked: true,
        }
    }

    pub(super) fn body(status: u16, kind: &str, body: &str) -> Self {
        let mut head = format!("HTTP/1.1 {status} X\r\n");
        if !kind.is_empty() {
            write!(head, "content-type: {kind}\r\n").unwrap();
        }
        if status != 204 {
            write!(head, "content-length: {}\r\n", body.len()).unwrap();
        }
        Self {
            head: Some(head),
            delay: Duration::ZERO,
            steps: vec![Step::Send(body.as_bytes().to_vec())],
            end: End::Clean,
            chunked: false,
        }
    }

    pub(super) fn json(status: u16, body: &str) -> Self {
        Self::body(status, "application/json", body)
    }

    /// Bytes as they once went over the wire, head included.
    pub(super) fn raw(bytes: &[u8]) -> Self {
        Self {
            head: Some(String::new()),
            steps: vec![Step::Send(bytes.to_vec())],
            end: End::Cut,
            ..Self::json(200, "")
        }
    }

    pub(super) fn kill() -> Self {
        Self {
            head: None,
            ..Self::json(200, "")
        }
    }

    pub(super) fn hang() -> Self {
        Self::json(200, "").delayed(Duration::from_hours(1))
    }

    pub(super) fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(super) fn header(mut self, line: &str) -> Self {
        if let Some(head) = &mut self.head {
            head.push_str(line);
            head.push_str("\r\n");
        }
        self
    }

    pub(super) fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    pub(super) fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub head: String,
    pub body: String,
    pub at: Instant,
    /// Which connection it came over.
    pub connection: usize,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Debug, Default)]
struct Log {
    seen: Vec<Seen>,
    closed: Vec<Instant>,
}

/// Plays its responses in order, then the last one again. Stops when dropped.
pub(super) struct Player {
    port: u16,
    log: Arc<Mutex<Log>>,
    task: JoinHandle<()>,
}

impl Player {
    pub(super) async fn start(responses: Vec<Response>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let log = Arc::new(Mutex::new(Log::default()));
        let (shared, responses) = (log.clone(), Arc::new(responses));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            for connection in 0.. {
                let (socket, _) = listener.accept().await.unwrap();
                let (log, responses) = (shared.clone(), responses.clone());
                connections.spawn(async move {
                    serve(socket, connection, &log, &responses).await;
                    log.lock().unwrap().closed.push(Instant::now());
                });
            }
        });
        Self { port, log, task }
    }

    pub(super) fn base(&self) -> String {
        format!("http://127.0.0.1:{}/base", self.port)
    }

    pub(super) fn requests(&self) -> Vec<Seen> {
        self.log.lock().unwrap().seen.clone()
    }

    /// Waits until there is a request.
    pub(super) async fn asked(&self) {
        while self.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// When a connection was seen to close; waits for it.
    pub(super) async fn closed(&self) -> Instant {
        loop {
            if let Some(at) = self.log.lock().unwrap().closed.first() {
                return *at;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut socket: TcpStream,
    connection: usize,
    log: &Mutex<Log>,
    responses: &[Response],
) -> Option<()> {
    let _ = socket.set_nodelay(true);
    let mut buffer = Vec::new();
    loop {
        let seen = request(&mut socket, &mut buffer, connection).await?;
        let n = {
            let mut log = log.lock().unwrap();
            log.seen.push(seen);
            log.seen.len() - 1
        };
        let response = responses.get(n).or(responses.last())?;
        idle(&mut socket, response.delay).await?;
        let mut head = response.head.clone()?;
        if !head.is_empty() {
            if response.chunked {
                head.push_str("transfer-encoding: chunked\r\n");
            }
            head.push_str("\r\n");
            socket.write_all(head.as_bytes()).await.ok()?;
        }
        for step in &response.steps {
            match step {
                Step::Send(bytes) if bytes.is_empty() => {}
                Step::Send(bytes) if response.chunked => {
                    let framed =
                        [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
                    socket.write_all(&framed).await.ok()?;
                    tokio::task::yield_now().await;
                }
                Step::Send(bytes) => socket.write_all(bytes).await.ok()?,
                Step::Pause(pause) => idle(&mut socket, *pause).await?,
                Step::Hang => idle(&mut socket, Duration::from_hours(1)).await?,
            }
        }
        match response.end {
            End::Clean if response.chunked => socket.write_all(b"0\r\n\r\n").await.ok()?,
            End::Clean => {}
            End::Cut => {
                socket.shutdown().await.ok()?;
                return Some(());
            }
            End::Reset => {
                socket.set_zero_linger().ok()?;
                return Some(());
            }
        }
    }
}

/// Waits; `None` as soon as the client has closed.
async fn idle(socket: &mut TcpStream, wait: Duration) -> Option<()> {
    let mut byte = [0];
    match tokio::time::timeout(wait, socket.peek(&mut byte)).await {
        Err(_) => Some(()),
        Ok(Ok(1)) => {
            tokio::time::sleep(wait).await;
            Some(())
        }
        Ok(_) => None,
    }
}

async fn request(socket: &mut TcpStream, buffer: &mut Vec<u8>, connection: usize) -> Option<Seen> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length:")?
                        .trim()
                        .parse()
                        .ok()
                })
                .unwrap_or(0);
            let whole = end + 4 + length;
            if buffer.len() >= whole {
                let body = String::from_utf8(buffer[end + 4..whole].to_vec()).unwrap();
                buffer.drain(..whole);
                return Some(Seen {
                    head,
                    body,
                    at: Instant::now(),
                    connection,
                });
            }
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
