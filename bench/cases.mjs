// @ts-check
// What is measured, and how much of it is enough.

/**
 * A figure of a measurement: `[group, variant, name]`.
 *
 * @typedef {[group: string, variant: string, name: string]} Figure
 *
 * What is asked of a figure, by itself (`limit`) or against that of another (the others).
 * @typedef {{ most: number } | { least: number } | { added: number } | { limit: number }} Bar
 *
 * @typedef {object} Row
 * @property {string} subject what is used, and how
 * @property {string} measure
 * @property {string} unit
 * @property {number} [history] messages before the turn
 * @property {Figure} of
 * @property {Figure} [against]
 * @property {Bar} bar
 *
 * Variants are measured in turn, so that what disturbs the machine disturbs all of them. The command is a script
 * of this folder and its options; PACKAGE, COMMONJS and YARDSTICK stand for the module that is measured.
 * @typedef {object} Group
 * @property {string} name
 * @property {number} repetitions
 * @property {Record<string, string[]>} variants
 */

export const PACKAGE = 'src/js/index.mjs'
export const COMMONJS = 'src/js/index.cjs'
export const YARDSTICK = 'bench/yardstick.mjs'

export const HISTORIES = [10, 100, 1_000, 10_000]
const STREAMED = [10, 100, 1_000]
const PROTOCOLS = { openai: 'OpenAI', anthropic: 'Anthropic' }

/** Enough turns for steady figures: fewer where each is dear. */
const TURNS = { 10: 2400, 100: 1600, 1_000: 480, 10_000: 96 }
const OVERHEAD_TURNS = { 10: 3000, 100: 3000, 1_000: 2000, 10_000: 400 }

/** Enough turns before the clock starts for V8 to have compiled what it will compile. */
const OVERHEAD_WARMUP = { 10: 2000, 100: 2000, 1_000: 2000, 10_000: 200 }

/**
 * @param {{ scale: number, repetitions: number }} size how much of everything there is, for a quick look
 * @returns {Group[]}
 */
export function groups({ scale, repetitions }) {
  const count = (/** @type {number} */ full) => String(Math.max(4, Math.round(full * scale)))
  const turns = (/** @type {string} */ module, /** @type {number} */ history, /** @type {number} */ held, /** @type {string[]} */ ...options) => [
    'turns.mjs', module, '--history', String(history), '--turns', count(held), '--warmup', count(1000), ...options,
  ]
  const around = (/** @type {string} */ module, /** @type {number} */ history, /** @type {string[]} */ ...options) => [
    'overhead.mjs', module, '--history', String(history), '--turns', count(of(OVERHEAD_TURNS, history)), '--warmup', count(of(OVERHEAD_WARMUP, history)), ...options,
  ]
  const memory = (/** @type {string} */ module, /** @type {string[]} */ ...options) => ['memory.mjs', module, '--sessions', count(1000), ...options]
  return [
    ...HISTORIES.map((history) => ({
      name: `send ${history}`,
      repetitions,
      variants: {
        yardstick: turns(YARDSTICK, history, of(TURNS, history)),
        native: turns(PACKAGE, history, of(TURNS, history)),
        javascript: turns(PACKAGE, history, of(TURNS, history), '--storage', 'javascript'),
        bare: ['bare.mjs', PACKAGE, '--history', String(history), '--turns', count(of(TURNS, history))],
      },
    })),
    ...Object.keys(PROTOCOLS).flatMap((protocol) =>
      STREAMED.map((history) => ({
        name: `stream ${protocol} ${history}`,
        repetitions,
        variants: {
          yardstick: turns(YARDSTICK, history, of(TURNS, history) / 2, '--stream', '--protocol', protocol),
          native: turns(PACKAGE, history, of(TURNS, history) / 2, '--stream', '--protocol', protocol),
        },
      })),
    ),
    ...HISTORIES.map((history) => ({
      name: `overhead ${history}`,
      repetitions,
      variants: {
        yardstick: around(YARDSTICK, history),
        javascript: around(PACKAGE, history, '--storage', 'javascript'),
        native: around(PACKAGE, history),
      },
    })),
    {
      name: 'delay',
      repetitions,
      variants: {
        yardstick: turns(YARDSTICK, 1_000, 800, '--sessions', '200', '--delay'),
        native: turns(PACKAGE, 1_000, 800, '--sessions', '200', '--delay'),
      },
    },
    {
      name: 'large event',
      repetitions,
      variants: { native: turns(PACKAGE, 0, 40, '--stream', '--sessions', '1', '--each', '1', '--warmup', count(100), '--chunks', '1', '--reply', String(2 ** 20)) },
    },
    {
      name: 'many chunks',
      repetitions,
      variants: { native: turns(PACKAGE, 0, 40, '--stream', '--sessions', '1', '--each', '1', '--warmup', count(100), '--chunks', '10000', '--reply', '40000') },
    },
    { name: 'startup', repetitions: 1, variants: { native: ['startup.mjs', COMMONJS, '--runs', count(21)] } },
    { name: 'memory ascii', repetitions: 1, variants: { yardstick: memory(YARDSTICK), native: memory(PACKAGE) } },
    { name: 'memory chinese', repetitions: 1, variants: { yardstick: memory(YARDSTICK, '--chinese'), native: memory(PACKAGE, '--chinese') } },
  ]
}

const NATIVE = 'native storage, native adapter, `send`'

/** @type {Row[]} */
export const rows = [
  ...HISTORIES.map((history) => sent(history, NATIVE, 'main-thread CPU', 'ms', 'native', 'mainMs', { most: of({ 10: 0.1, 100: 0.07, 1_000: 0.03, 10_000: 0.01 }, history) })),
  ...HISTORIES.map((history) => sent(history, NATIVE, 'process CPU', 'ms', 'native', 'processMs', { most: 0.35 })),
  ...HISTORIES.map((history) => sent(history, NATIVE, 'turns a second, 16 sessions', '/s', 'native', 'turnsPerS', { least: of({ 10: 2, 100: 2, 1_000: 2.5, 10_000: 3 }, history) })),
  ...HISTORIES.map((history) => ({
    ...sent(history, NATIVE, 'process CPU against a bare loop in Rust that posts the same bytes', 'ms', 'native', 'processMs', { most: 1.25 }),
    against: figure(`send ${history}`, 'bare', 'processMs'),
  })),
  {
    subject: NATIVE,
    measure: 'process CPU against that at 1 000 messages: no more than the bytes',
    unit: 'ms',
    history: 10_000,
    of: figure('send 10000', 'native', 'processMs'),
    against: figure('send 1000', 'native', 'processMs'),
    bar: { most: 10 },
  },
  ...Object.entries(PROTOCOLS).flatMap(([protocol, name]) =>
    STREAMED.map((history) =>
      row(`stream ${protocol} ${history}`, history, `native storage, native adapter, \`stream\` of 20 chunks, ${name}`, 'main-thread CPU', 'ms', 'native', 'mainMs', {
        most: of({ 10: 0.15, 100: 0.12, 1_000: 0.06 }, history),
      }),
    ),
  ),
  ...HISTORIES.map((history) =>
    sent(history, 'storage in JavaScript, native adapter, `send`', 'main-thread CPU', 'ms', 'javascript', 'mainMs', { most: of({ 10: 0.2, 100: 0.15, 1_000: 0.25, 10_000: 0.25 }, history) }),
  ),
  ...HISTORIES.map((history) => overhead(history, 'storage in JavaScript, adapter in JavaScript, `send`', 'javascript', 60)),
  ...HISTORIES.map((history) => overhead(history, 'native in-memory storage, adapter in JavaScript, `send`', 'native', 70)),
  row('delay', 1_000, '200 sessions at once, `send`', 'delay of the event loop, p99', 'ms', 'native', 'delayP99Ms', { most: 0.1 }),
  row('memory ascii', undefined, '1 000 sessions of 1 000 messages of 400 characters', 'memory, ASCII', 'MB', 'native', 'megabytes', { most: 1 }),
  row('memory chinese', undefined, '1 000 sessions of 1 000 messages of 400 characters', 'memory, Chinese', 'MB', 'native', 'megabytes', { most: 1.5 }),
  alone('large event', '`stream`, one event of 1 MiB', 'latency of the turn', 'ms', 'latencyMs', 20),
  alone('many chunks', '`stream`, 10 000 chunks', 'main-thread CPU of each chunk', 'µs', 'chunkUs', 1),
  alone('startup', '`require`', 'more than an empty module', 'ms', 'addedMs', 5),
  alone('startup', 'the first turn of a process', 'latency of the turn', 'ms', 'firstCallMs', 25),
  alone('addon', 'the addon', 'size', 'MB', 'megabytes', 8),
]

/**
 * @param {string} group
 * @param {number | undefined} history
 * @param {string} subject
 * @param {string} measure
 * @param {string} unit
 * @param {string} variant
 * @param {string} name
 * @param {Bar} bar
 * @returns {Row}
 */
function row(group, history, subject, measure, unit, variant, name, bar) {
  return { subject, measure, unit, history, of: figure(group, variant, name), against: figure(group, 'yardstick', name), bar }
}

/**
 * @param {number} history
 * @param {string} subject
 * @param {string} measure
 * @param {string} unit
 * @param {string} variant
 * @param {string} name
 * @param {Bar} bar
 */
function sent(history, subject, measure, unit, variant, name, bar) {
  return row(`send ${history}`, history, subject, measure, unit, variant, name, bar)
}

/**
 * @param {number} history
 * @param {string} subject
 * @param {string} variant
 * @param {number} added microseconds, where the yardstick takes next to none
 */
function overhead(history, subject, variant, added) {
  const bar = history <= 100 ? { added } : { most: history <= 1_000 ? 2 : 1.4 }
  return row(`overhead ${history}`, history, subject, 'latency', 'µs', variant, 'latencyUs', bar)
}

/**
 * @param {string} group
 * @param {string} subject
 * @param {string} measure
 * @param {string} unit
 * @param {string} name
 * @param {number} limit
 * @returns {Row}
 */
function alone(group, subject, measure, unit, name, limit) {
  return { subject, measure, unit, of: figure(group, 'native', name), bar: { limit } }
}

/**
 * @param {string} group
 * @param {string} variant
 * @param {string} name
 * @returns {Figure}
 */
function figure(group, variant, name) {
  return [group, variant, name]
}

/**
 * @param {Record<number, number>} table
 * @param {number} history
 */
function of(table, history) {
  return table[history] ?? NaN
}
