// Fuzzes the core with cargo-fuzz (`cargo install cargo-fuzz`), one target after another:
//
//   node scripts/fuzz.mjs [seconds for each, default 300] [target ...]
//
// What a target finds is left in fuzz/artifacts; the corpus it works on is a copy, merged back into fuzz/corpus afterwards so
// that only inputs remain that reach something new. `cargo test` replays that corpus.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cargoEnvironment } from './cargo.mjs'

const folder = fileURLToPath(new URL('../fuzz', import.meta.url))
// What makes the compiler take coverage is not stable yet.
const env = { ...cargoEnvironment(), RUSTC_BOOTSTRAP: '1' }
const [seconds = '300', ...named] = process.argv.slice(2)
const targets = named.length > 0 ? named : readdirSync(join(folder, 'fuzz_targets')).map((file) => basename(file, '.rs'))

/** Larger inputs take longer and reach nothing more. */
const LIMITS = ['-max_len=3000', '-timeout=20', '-rss_limit_mb=4000']

/** What is kept: small inputs that together reach all the code that was reached. */
const KEPT = ['-max_len=600', '-set_cover_merge=1', '-use_counters=0']

for (const target of targets) {
  const corpus = join(folder, 'corpus', target)
  const work = mkdtempSync(join(tmpdir(), 'stello-fuzz-'))
  try {
    cpSync(corpus, join(work, 'corpus'), { recursive: true })
    const { status } = fuzz(target, [join(work, 'corpus')], [...LIMITS, `-max_total_time=${seconds}`, '-print_final_stats=1'])
    if (status !== 0) process.exitCode = 1
    fuzz(target, [corpus, join(work, 'corpus')], KEPT)
  } finally {
    rmSync(work, { recursive: true })
  }
}

/**
 * @param {string} target
 * @param {string[]} corpora
 * @param {string[]} flags
 */
function fuzz(target, corpora, flags) {
  return spawnSync('cargo', ['fuzz', 'run', '--fuzz-dir', folder, target, ...corpora, '--', ...flags], { env, stdio: 'inherit' })
}
