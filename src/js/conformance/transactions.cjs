// @ts-check
'use strict'

const assert = require('node:assert/strict')
const { contents, meta, record } = require('./samples.cjs')

/** @import { Case } from './index.cjs' */

/**
 * All or nothing.
 *
 * @type {Case[]}
 */
module.exports = [
  {
    name: 'a transaction keeps what was done and gives what its function gave',
    async run(storage) {
      const given = { any: 'value' }
      const got = await storage.transaction(async (tx) => {
        await tx.putSession(meta('s'))
        await tx.appendRecord('s', record('user', '1'))
        await tx.appendRecord('s', record('assistant', '2'))
        await tx.putSystemPrompt('s', 'prompt')
        await tx.putInsight('s', 'insight')
        await tx.putMemory('s', 'memory')
        return given
      })
      assert.equal(got, given)
      assert.equal(await storage.transaction(async () => undefined), undefined)
      assert.equal((await storage.getSession('s'))?.label, 'label of s')
      assert.deepEqual(await contents(storage, 's'), ['1', '2'])
      assert.equal(await storage.getSystemPrompt('s'), 'prompt')
      assert.equal(await storage.getInsight('s'), 'insight')
      assert.equal(await storage.getMemory('s'), 'memory')
    },
  },
  {
    name: 'a transaction reads its own writes',
    async run(storage) {
      await storage.appendRecord('s', record('user', '1'))
      await storage.putInsight('s', 'old')
      await storage.transaction(async (tx) => {
        await tx.appendRecord('s', record('user', '2'))
        assert.deepEqual(await contents(tx, 's'), ['1', '2'])
        await tx.trimRecords('s', 1)
        assert.deepEqual(await contents(tx, 's'), ['2'])
        assert.equal(await tx.getInsight('s'), 'old')
        await tx.putInsight('s', 'new')
        assert.equal(await tx.getInsight('s'), 'new')
        await tx.clearInsight('s')
        assert.equal((await tx.getInsight('s')) ?? null, null)
        await tx.putMemory('s', 'memory')
        assert.equal(await tx.getMemory('s'), 'memory')
        await tx.putSystemPrompt('s', 'prompt')
        assert.equal(await tx.getSystemPrompt('s'), 'prompt')
        await tx.putSession(meta('s'))
        assert.equal((await tx.getSession('s'))?.id, 's')
      })
      assert.deepEqual(await contents(storage, 's'), ['2'])
      assert.equal((await storage.getInsight('s')) ?? null, null)
    },
  },
  {
    name: 'a transaction whose function rejects leaves nothing and rejects with the same error',
    async run(storage) {
      await storage.putSession(meta('s'))
      await storage.appendRecord('s', record('user', 'before'))
      await storage.putSystemPrompt('s', 'before')
      await storage.putInsight('s', 'before')
      await storage.putMemory('s', 'before')
      const error = new Error('mine')
      const run = storage.transaction(async (tx) => {
        await tx.putSession({ ...meta('s'), label: 'changed' })
        await tx.putSession(meta('new'))
        await tx.appendRecord('s', record('user', 'half a turn'))
        await tx.appendRecord('new', record('user', 'half a turn'))
        await tx.trimRecords('s', 0)
        await tx.putSystemPrompt('s', 'changed')
        await tx.clearInsight('s')
        await tx.putMemory('s', 'changed')
        throw error
      })
      await assert.rejects(run, (thrown) => thrown === error)
      assert.equal((await storage.getSession('s'))?.label, 'label of s')
      assert.equal((await storage.getSession('new')) ?? null, null)
      assert.deepEqual(await contents(storage, 's'), ['before'])
      assert.deepEqual(await contents(storage, 'new'), [])
      assert.equal(await storage.getSystemPrompt('s'), 'before')
      assert.equal(await storage.getInsight('s'), 'before')
      assert.equal(await storage.getMemory('s'), 'before')
    },
  },
  {
    name: 'after a transaction that failed the next one works',
    async run(storage) {
      for (let n = 0; n < 3; n += 1) {
        await assert.rejects(storage.transaction(async (tx) => {
          await tx.appendRecord('s', record('user', 'lost'))
          throw new Error('mine')
        }), /mine/)
      }
      await storage.appendRecord('s', record('user', '1'))
      await storage.transaction((tx) => tx.appendRecord('s', record('user', '2')))
      assert.deepEqual(await contents(storage, 's'), ['1', '2'])
    },
  },
]
