// Chance that can be had again: the same seed, the same numbers.

/** The seed of this run: `STELLO_SEED`, else a new one. */
export function seedOfRun() {
  const given = Number(process.env.STELLO_SEED)
  return Number.isSafeInteger(given) && given > 0 ? given : Math.floor(Math.random() * 2 ** 31) + 1
}

/**
 * Numbers from 0 up to 1, as `Math.random` makes them (mulberry32, by Tommy Ettinger, in the public domain).
 *
 * @param {number} seed
 */
export function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * What the provider of these tests answers to a message: of a length that depends on it, in more than one script.
 *
 * @param {string} message
 */
export function answerTo(message) {
  let hash = 0
  for (let at = 0; at < message.length; at++) hash = (Math.imul(hash, 31) + message.charCodeAt(at)) >>> 0
  return `re: ${message} ${'so it is. 就是这样。'.repeat(hash % 7)}`
}
