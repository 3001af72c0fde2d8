// @ts-check
'use strict'

const { copyRecord } = require('./records.cjs')

/**
 * The records of a native storage as objects, as far as prompts have shown them: see `src/binding/shown.rs`.
 *
 * @typedef {{ from: number, to: number, drop: number, keep: number, add: any[] }} Change
 *
 * `plain` tells the records of role, content and timestamp alone, which are copied several times faster.
 * @typedef {{ records: any[], plain: boolean[] }} Version
 */
class ShownRecords {
  /** @type {Map<number, Version>} */
  #versions = new Map()

  /**
   * The records that a prompt is about: those of an earlier prompt less some in front, plus new ones behind.
   * Answers a function that copies a range of them.
   *
   * @param {Change} change
   * @returns {(start: number, end: number) => any[]}
   */
  apply({ from, to, drop, keep, add }) {
    // What is older than the last answered prompt is needed no more; what is newer may still be answered.
    for (const version of this.#versions.keys()) if (version < from) this.#versions.delete(version)
    const before = this.#versions.get(from)
    const records = before?.records.slice(drop, drop + keep) ?? []
    const plain = before?.plain.slice(drop, drop + keep) ?? []
    for (const record of add) {
      records.push(record)
      plain.push(isPlain(record))
    }
    this.#versions.set(to, { records, plain })
    return (start, end) => {
      const copies = records.slice(start, end)
      for (let index = 0; index < copies.length; index++) {
        const record = copies[index]
        copies[index] = plain[start + index] ? { role: record.role, content: record.content, timestamp: record.timestamp } : copyRecord(record)
      }
      return copies
    }
  }
}

/** @param {any} record */
function isPlain(record) {
  const keys = Object.keys(record)
  return keys.length === 3 && keys[0] === 'role' && keys[1] === 'content' && keys[2] === 'timestamp'
}

module.exports = { ShownRecords }
