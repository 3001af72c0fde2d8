// @ts-check
'use strict'

const assert = require('node:assert/strict')
const { contents, meta, record } = require('./samples.cjs')

/** @import { Case } from './index.cjs' */

/**
 * What every storage owes its sessions.
 *
 * @type {Case[]}
 */
module.exports = [
  {
    name: 'what was never put is null',
    async run(storage) {
      assert.equal((await storage.getSession('s')) ?? null, null)
      assert.equal((await storage.getSystemPrompt('s')) ?? null, null)
      assert.equal((await storage.getInsight('s')) ?? null, null)
      assert.equal((await storage.getMemory('s')) ?? null, null)
      assert.deepEqual(await storage.listRecords('s'), [])
    },
  },
  {
    name: 'a session comes back as it was put',
    async run(storage) {
      const put = { ...meta('s'), role: /** @type {const} */ ('main'), tags: ['b', 'a'], metadata: { list: [1, null, { deep: true }], no: null } }
      await storage.putSession(put)
      assert.deepEqual({ ...(await storage.getSession('s')) }, { ...meta('s'), role: 'main', tags: ['b', 'a'], metadata: { list: [1, null, { deep: true }], no: null } })
      assert.equal((await storage.getSession('S')) ?? null, null)
    },
  },
  {
    name: 'a session that is put again is replaced, and keeps its records and texts',
    async run(storage) {
      await storage.putSession({ ...meta('s'), tags: ['old'], metadata: { old: 1 } })
      await storage.appendRecord('s', record('user', 'kept'))
      await storage.putSystemPrompt('s', 'prompt')
      await storage.putInsight('s', 'insight')
      await storage.putMemory('s', 'memory')
      const next = { ...meta('s'), label: 'new', status: /** @type {const} */ ('archived'), updatedAt: '2026-02-02T00:00:00.000Z' }
      await storage.putSession({ ...next })
      assert.deepEqual({ ...(await storage.getSession('s')) }, next)
      assert.deepEqual(await contents(storage, 's'), ['kept'])
      assert.equal(await storage.getSystemPrompt('s'), 'prompt')
      assert.equal(await storage.getInsight('s'), 'insight')
      assert.equal(await storage.getMemory('s'), 'memory')
    },
  },
  {
    name: 'records keep their order, whatever their times',
    async run(storage) {
      const times = ['2026-01-03T00:00:00.000Z', '2026-01-01T00:00:00.000Z', undefined, '2026-01-01T00:00:00.000Z']
      const put = times.map((timestamp, n) => ({ ...record(n % 2 === 0 ? 'user' : 'assistant', `${n}`), ...(timestamp && { timestamp }) }))
      for (const one of put) await storage.appendRecord('s', { ...one })
      assert.deepEqual((await storage.listRecords('s')).map((one) => ({ ...one })), put)
    },
  },
  {
    name: 'records keep all their properties, unknown ones too',
    async run(storage) {
      const put = [
        { ...record('assistant', ''), toolCalls: [{ id: 'c1', name: 'f', input: { a: { b: [1, 'x', null] } } }, { id: 'c2', name: 'g', input: {} }], reasoningContent: 'hm' },
        { ...record('tool', 'failed'), toolCallId: 'c1', isError: true },
        { ...record('tool', ''), toolCallId: 'c2', custom: { deep: ['kept', { too: null }] } },
      ]
      for (const one of put) await storage.appendRecord('s', structuredClone(one))
      assert.deepEqual(plain(await storage.listRecords('s')), put)
    },
  },
  {
    name: 'records are listed by role, then offset, then limit',
    async run(storage) {
      for (let n = 0; n < 6; n += 1) await storage.appendRecord('s', record(n % 2 === 0 ? 'user' : 'assistant', `${n}`))
      const listed = async (/** @type {import('../../../index.js').ListRecordsOptions} */ options) => (await storage.listRecords('s', options)).map(({ content }) => content)
      assert.deepEqual(await listed({}), ['0', '1', '2', '3', '4', '5'])
      assert.deepEqual(await listed({ role: 'user' }), ['0', '2', '4'])
      assert.deepEqual(await listed({ role: 'tool' }), [])
      assert.deepEqual(await listed({ offset: 4 }), ['4', '5'])
      assert.deepEqual(await listed({ offset: 6 }), [])
      assert.deepEqual(await listed({ limit: 2 }), ['0', '1'])
      assert.deepEqual(await listed({ limit: 0 }), [])
      assert.deepEqual(await listed({ offset: 1, limit: 2 }), ['1', '2'])
      assert.deepEqual(await listed({ role: 'assistant', offset: 1, limit: 1 }), ['3'])
      assert.deepEqual(await listed({ role: undefined, offset: undefined, limit: undefined }), ['0', '1', '2', '3', '4', '5'])
    },
  },
  {
    name: 'a trim keeps the newest records, and what is appended then comes after them',
    async run(storage) {
      for (let n = 0; n < 5; n += 1) await storage.appendRecord('s', record('user', `${n}`))
      await storage.appendRecord('other', record('user', 'untouched'))
      await storage.trimRecords('s', 9)
      assert.deepEqual(await contents(storage, 's'), ['0', '1', '2', '3', '4'])
      await storage.trimRecords('s', 2)
      await storage.appendRecord('s', record('user', '5'))
      assert.deepEqual(await contents(storage, 's'), ['3', '4', '5'])
      await storage.trimRecords('s', 0)
      assert.deepEqual(await contents(storage, 's'), [])
      await storage.appendRecord('s', record('user', '6'))
      assert.deepEqual(await contents(storage, 's'), ['6'])
      await storage.trimRecords('none', 1)
      assert.deepEqual(await contents(storage, 'other'), ['untouched'])
    },
  },
  {
    name: 'texts are replaced, each by itself, and only an insight is cleared',
    async run(storage) {
      for (const round of ['first', 'second']) {
        await storage.putSystemPrompt('s', `${round} prompt`)
        await storage.putInsight('s', `${round} insight`)
        await storage.putMemory('s', `${round} memory`)
      }
      assert.equal(await storage.getSystemPrompt('s'), 'second prompt')
      assert.equal(await storage.getInsight('s'), 'second insight')
      assert.equal(await storage.getMemory('s'), 'second memory')
      await storage.clearInsight('s')
      await storage.clearInsight('s')
      await storage.clearInsight('none')
      assert.equal((await storage.getInsight('s')) ?? null, null)
      assert.equal(await storage.getSystemPrompt('s'), 'second prompt')
      assert.equal(await storage.getMemory('s'), 'second memory')
      await storage.putInsight('s', 'third')
      assert.equal(await storage.getInsight('s'), 'third')
    },
  },
  {
    name: 'an empty text is a text',
    async run(storage) {
      await storage.putSystemPrompt('s', '')
      await storage.putInsight('s', '')
      await storage.putMemory('s', '')
      await storage.appendRecord('s', record('assistant', ''))
      assert.equal(await storage.getSystemPrompt('s'), '')
      assert.equal(await storage.getInsight('s'), '')
      assert.equal(await storage.getMemory('s'), '')
      assert.deepEqual(await contents(storage, 's'), [''])
    },
  },
  {
    name: 'records and texts are kept for an id without a session, and found by it later',
    async run(storage) {
      await storage.appendRecord('s', record('user', 'early'))
      await storage.putInsight('s', 'early insight')
      assert.equal((await storage.getSession('s')) ?? null, null)
      await storage.putSession(meta('s'))
      assert.deepEqual(await contents(storage, 's'), ['early'])
      assert.equal(await storage.getInsight('s'), 'early insight')
    },
  },
  {
    name: 'sessions are kept apart',
    async run(storage) {
      for (const id of ['a', 'b']) {
        await storage.putSession({ ...meta(id), label: id })
        await storage.appendRecord(id, record('user', id))
        await storage.putSystemPrompt(id, id)
        await storage.putInsight(id, id)
        await storage.putMemory(id, id)
      }
      await storage.clearInsight('a')
      await storage.trimRecords('a', 0)
      assert.deepEqual(await contents(storage, 'b'), ['b'])
      assert.equal((await storage.getSession('b'))?.label, 'b')
      assert.equal(await storage.getSystemPrompt('b'), 'b')
      assert.equal(await storage.getInsight('b'), 'b')
      assert.equal(await storage.getMemory('b'), 'b')
    },
  },
  {
    name: 'calls at the same time are all kept',
    async run(storage) {
      const expected = Array.from({ length: 24 }, (_, n) => `${n}`)
      await Promise.all(expected.map((content) => storage.appendRecord('s', record('user', content))))
      assert.deepEqual((await contents(storage, 's')).toSorted((a, b) => Number(a) - Number(b)), expected)
    },
  },
]

/** @param {unknown[]} records */
function plain(records) {
  return JSON.parse(JSON.stringify(records))
}
