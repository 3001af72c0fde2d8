// @ts-check
'use strict'

/**
 * The records of a native storage as objects, as far as prompts have shown them: see `src/binding/shown.rs`.
 *
 * @typedef {{ from: number, to: number, drop: number, keep: number, add: any[] }} Change
 */
class ShownRecords {
  /** @type {Map<number, any[]>} */
  #versions = new Map()

  /**
   * The records that a prompt is about: those of an earlier prompt less some in front, plus new ones behind.
   *
   * @param {Change} change
   */
  apply({ from, to, drop, keep, add }) {
    // What is older than the last answered prompt is needed no more; what is newer may still be answered.
    for (const version of this.#versions.keys()) if (version < from) this.#versions.delete(version)
    const records = (this.#versions.get(from) ?? []).slice(drop, drop + keep)
    for (const record of add) records.push(record)
    this.#versions.set(to, records)
    return records
  }
}

module.exports = { ShownRecords }
