// @ts-check
'use strict'

/** @import { Message, SessionMeta, SessionStorage } from '../../../index.js' */

/**
 * @param {string} id
 * @returns {SessionMeta}
 */
function meta(id) {
  const now = '2026-01-01T00:00:00.000Z'
  return { id, label: `label of ${id}`, role: 'standard', status: 'active', tags: [], metadata: {}, createdAt: now, updatedAt: now }
}

/**
 * @param {Message['role']} role
 * @param {string} content
 * @returns {Message}
 */
function record(role, content) {
  return { role, content }
}

/**
 * @param {Pick<SessionStorage, 'listRecords'>} storage
 * @param {string} id
 */
async function contents(storage, id) {
  return (await storage.listRecords(id)).map(({ content }) => content)
}

/** A promise and the function that fulfils it. */
function gate() {
  /** @type {{ opened: Promise<unknown>, open: (value?: unknown) => void }} */
  const made = Object.create(null)
  made.opened = new Promise((resolve) => {
    made.open = resolve
  })
  return made
}

module.exports = { contents, gate, meta, record }
