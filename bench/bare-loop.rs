//! The least that a turn can cost in Rust: posts the same bytes with nothing around reqwest.
//!
//! `bare-loop URL SESSIONS TURNS BODY...`: `SESSIONS` loops post `TURNS` requests in all, taking the files in turn. Prints
//! the CPU time of the process per request and the requests per second as one line of JSON. Linux only: it reads
//! the scheduler's accounting.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use reqwest::Client;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let cores = std::thread::available_parallelism()?.get();
    // As many threads as the addon has.
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.clamp(1, 4))
        .enable_all()
        .build()?
        .block_on(measure())
}

async fn measure() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("an argument is missing");
    let (url, sessions, turns) = (
        next()?,
        next()?.parse::<usize>()?,
        next()?.parse::<usize>()?,
    );
    let bodies = arguments
        .map(|file| Ok(bytes::Bytes::from(std::fs::read(file)?)))
        .collect::<Outcome<Vec<_>>>()?;
    // reqwest is built without a provider of its own, and asks for one even where nothing is encrypted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().tcp_nodelay(true).no_proxy().build()?;

    let run = |turns: usize| {
        let taken = Arc::new(AtomicUsize::new(0));
        let loops = (0..sessions).map(|_| {
            let (client, url) = (client.clone(), url.clone());
            let (bodies, taken) = (bodies.clone(), taken.clone());
            tokio::spawn(async move {
                loop {
                    let turn = taken.fetch_add(1, Ordering::Relaxed);
                    let body = bodies.iter().cycle().nth(turn % bodies.len());
                    let Some(body) = body.filter(|_| turn < turns) else {
                        return Outcome::Ok(());
                    };
                    let request = client.post(&url).header("content-type", "application/json");
                    request.body(body.clone()).send().await?.bytes().await?;
                }
            })
        });
        let loops = loops.collect::<Vec<_>>();
        async move {
            for each in loops {
                each.await??;
            }
            Outcome::Ok(())
        }
    };
    run(200).await?;
    let (cpu, wall) = (cpu_ms()?, Instant::now());
    run(turns).await?;
    let (cpu, wall) = (cpu_ms()? - cpu, wall.elapsed().as_secs_f64());

    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    let turns = turns as f64;
    println!(
        "{{\"processMs\":{:.5},\"turnsPerS\":{:.1}}}",
        cpu / turns,
        turns / wall
    );
    Ok(())
}

/// What all threads of the process have run for, in milliseconds.
fn cpu_ms() -> Outcome<f64> {
    let mut ms = 0.0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let ns = text.split(' ').next().ok_or("no figure")?.parse::<f64>()?;
        ms += ns / 1e6;
    }
    Ok(ms)
}
