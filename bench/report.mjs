// @ts-check
// Figures against their bars, as a table and as a page.
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'

/** @import { Figure, Row } from './cases.mjs' */

/**
 * @typedef {object} Judged
 * @property {Row} row
 * @property {number} figure
 * @property {number | undefined} yardstick
 * @property {string} reached
 * @property {string} bar
 * @property {boolean} met
 */

/**
 * `undefined` where a figure is missing.
 *
 * @param {Row} row
 * @param {(figure: Figure) => number | undefined} figureOf
 * @returns {Judged | undefined}
 */
export function judge(row, figureOf) {
  const figure = figureOf(row.of)
  const yardstick = row.against === undefined ? undefined : figureOf(row.against)
  if (figure === undefined || (row.against !== undefined && yardstick === undefined)) return undefined
  return { row, figure, yardstick, ...verdict(row, figure, yardstick ?? NaN) }
}

/**
 * @param {Row} row
 * @param {number} figure
 * @param {number} yardstick
 */
function verdict({ bar, unit }, figure, yardstick) {
  const ratio = figure / yardstick
  if ('most' in bar) return { reached: short(ratio), bar: `≤ ${bar.most}`, met: ratio <= bar.most }
  if ('least' in bar) return { reached: short(ratio), bar: `≥ ${bar.least}`, met: ratio >= bar.least }
  if ('added' in bar) return { reached: signed(figure - yardstick, unit), bar: `≤ +${bar.added} ${unit}`, met: figure - yardstick <= bar.added }
  return { reached: `${short(figure)} ${unit}`, bar: `≤ ${bar.limit} ${unit}`, met: figure <= bar.limit }
}

/** @param {Judged[]} judged */
export function table(judged) {
  const head = ['case', 'measure', 'history', 'yardstick', 'package', 'reached', 'bar', '']
  const lines = judged.map(({ row, figure, yardstick, reached, bar, met }) => [
    row.subject,
    row.measure,
    row.history === undefined ? '' : grouped(row.history),
    yardstick === undefined ? '' : `${short(yardstick)} ${row.unit}`,
    `${short(figure)} ${row.unit}`,
    reached,
    bar,
    met ? 'met' : '**missed**',
  ])
  const align = head.map((_, column) => (column >= 2 && column <= 6 ? '---:' : '---'))
  return [head, align, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** @param {Judged[]} judged */
export function page(judged) {
  const met = judged.filter(({ met: is }) => is).length
  return `# Performance

The reason for a native package: the event loop stays free. Everything below was measured in one run, on one machine, against a
yardstick; ratios tell more than the figures they are made of, which belong to that machine.

![What a turn costs, against plain JavaScript](performance.svg)

Measured on ${new Date().toISOString().slice(0, 10)}: ${availableParallelism()} cores of ${cpus()[0]?.model.trim() ?? 'an unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB of
memory, ${type()} ${release().split('-')[0]}, Node.js ${process.version}. ${met} of ${judged.length} bars are met.

${table(judged)}

## What the rest is made of

Where a bar is missed, this is what the time goes into, by profile (\`perf record\`, \`--cpu-prof\`), each in microseconds of a turn.

- **Process CPU against the bare loop.** A turn of 10 messages takes about 128 µs, the loop 32, and the bar leaves 8 more than that. The JavaScript thread alone takes 28: the call, its promise and async context, the answer's object. The
  threads of Rust take 91 by profile, in which nothing stands out: sending and receiving 13, allocating 13, this package's own code 11, waking and sleeping 10, the HTTP client 10, copying 8, the standard library 9, the runtime 5, the rest
  is below 2 each. With long histories the bytes count: pieces of the body are kept and sent again from the second turn on. The first turn of a session writes every message; four turns in a row, as here, bear a fourth of that each.
  Over the first 32 turns of 10 000 messages the mean is 1.7 ms against 0.9.
- **Storage and adapter in JavaScript.** Around 35 µs for each turn, of which a third is spent in Rust and a fourth on promises. For each record: 13 ns to copy it, because an adapter may change
  what it is shown and a storage may hand out the very objects that it keeps; up to 10 to see that it is the one that was there before, or else what has changed (this measurement trims after each turn, so every record moves); 7 in the plan; 6 of
  garbage collection. The copies alone are more than the bar leaves: at 10 000 messages the yardstick takes 24 ns a message in all, of which one such copy is its own, and 1.4 of that leaves 10.
- **Memory, ASCII.** Of the 564 MB, 542 are in use by the allocator's own account (\`malloc_stats\`), 10 are free pieces between them, 6 are V8's heap, and the rest is code and stacks. A message of 400 characters takes 470 bytes as
  JSON, 16 for being shared, 10 for the allocator and 40 for where its parts lie: 536 of those 542.

## What is compared

- **The yardstick** ([\`bench/yardstick.mjs\`](../bench/yardstick.mjs)) is the least that a session costs in JavaScript: it puts the prompt together, calls the
  provider's own client (\`openai\`, \`@anthropic-ai/sdk\`) once and keeps two records in Maps. It neither queues, nor checks, nor
  compresses, nor survives a failure.
- **The bare loop** ([\`bench/bare-loop.rs\`](../bench/bare-loop.rs)) posts the very bytes that the package sends with reqwest, and reads the answer without looking at it.
- **history** counts the messages of about 400 characters that a session has before its turn. Unless said otherwise, 16 sessions
  have a turn at the same time, four in a row each, and the provider is a process on the same machine that answers at once.
- **reached** is the package's figure divided by the one it is compared with, or the difference where a unit stands with a sign.
  A bar is what it has to be.

## How it is measured

- Every figure is the median of three processes, of which those to be compared run in turn. Each holds 1 000 turns (2 000 for latencies) before
  the clock starts.
- Main-thread CPU is the scheduler's own accounting (\`/proc/self/task/PID/schedstat\`): what other processes do at the same time disturbs
  it less than it disturbs a clock. Process CPU is that of all threads: garbage collection, compiler and the addon's own included.
- The delay of the event loop is that of \`monitorEventLoopDelay\`, with its finest resolution, in runs of its own.
- \`require\` and the first turn are medians over new processes.
- Memory is what the process occupies after garbage collection, less what it occupied before.

## Repeat it

\`\`\`sh
npm run bench              # ten minutes; keep the machine quiet meanwhile
npm run bench -- --write   # and write this page
npm run bench -- --quick   # a look with few turns, whose figures say little
\`\`\`

It needs Linux, Node.js and Rust. One measurement by itself:

\`\`\`sh
node bench/turns.mjs src/js/index.mjs --history 1000 --stream --protocol anthropic
node bench/overhead.mjs src/js/index.mjs --history 1000 --storage javascript
\`\`\`
`
}

/** Three digits, however large. @param {number} value */
export function short(value) {
  if (!Number.isFinite(value)) return '?'
  if (Math.abs(value) >= 100) return grouped(Math.round(value))
  return String(Number(value.toPrecision(3)))
}

/** @param {number} value */
function signed(value, /** @type {string} */ unit) {
  return `${value < 0 ? '−' : '+'}${short(Math.abs(value))} ${unit}`
}

/** @param {number} value */
function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}
