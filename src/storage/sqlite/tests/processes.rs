//! Several processes on one file, and processes that are killed.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use tempfile::TempDir;

use super::{append, contents, storage};
use crate::{
    storage::{Slot, Storage as _, Store as _},
    text::Text,
};

const FILE: &str = "STELLO_TEST_SQLITE_FILE";
const TURNS: &str = "STELLO_TEST_TURNS";
const NAME: &str = "STELLO_TEST_WRITER";

/// The other process: this test alone, in the same binary, with something to do.
#[tokio::test]
async fn a_writing_process() {
    let Some(path) = env::var_os(FILE) else {
        return;
    };
    let turns: usize = env::var(TURNS).unwrap().parse().unwrap();
    let name = env::var(NAME).unwrap();
    let storage = storage(Path::new(&path));
    for turn in 0..turns {
        storage.load(&Text::from("s"), Slot::Insight).await.unwrap();
        let content = format!("{name}.{turn}");
        storage
            .apply(vec![append(&content), append(&content)])
            .await
            .unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "acknowledged").unwrap();
        out.flush().unwrap();
    }
}

fn writer(path: &Path, name: &str, turns: usize) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "storage::sqlite::tests::processes::a_writing_process",
        ])
        .env(FILE, path)
        .env(TURNS, turns.to_string())
        .env(NAME, name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn acknowledged(child: &mut Child) -> usize {
    let out = BufReader::new(child.stdout.take().unwrap());
    out.lines()
        .map_while(Result::ok)
        .filter(|line| line.contains("acknowledged"))
        .count()
}

#[tokio::test]
async fn twenty_processes_that_start_at_once_make_one_file_and_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let mut writers: Vec<_> = (0..20).map(|n| writer(&path, &n.to_string(), 10)).collect();
    for writer in &mut writers {
        assert_eq!(acknowledged(writer), 10);
        assert!(writer.wait().unwrap().success());
    }
    let all = contents(&storage(&path)).await;
    assert_eq!(all.len(), 400);
    assert!(all.chunks(2).all(|turn| turn[0] == turn[1]), "{all:?}");
}

#[tokio::test]
async fn a_killed_process_leaves_whole_turns_and_every_acknowledged_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s.db");
    let mut expected = 0;
    for round in 0..8_u64 {
        let mut child = writer(&path, &round.to_string(), 1_000_000);
        sleep(Duration::from_millis(30 + round * 13));
        child.kill().unwrap();
        expected += 2 * acknowledged(&mut child);
        child.wait().unwrap();
        let storage = storage(&path);
        let all = contents(&storage).await;
        assert!(all.len() >= expected, "{} of {expected}", all.len());
        assert!(
            all.chunks(2)
                .all(|turn| turn.len() == 2 && turn[0] == turn[1])
        );
        expected = all.len();
        storage.close().await.unwrap();
    }
    assert!(expected > 0);
}
