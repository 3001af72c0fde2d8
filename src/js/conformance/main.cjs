// @ts-check
'use strict'

const assert = require('node:assert/strict')
const { meta } = require('./samples.cjs')

/** @import { SessionMeta } from '../../../index.js' */
/** @import { MainCase } from './index.cjs' */

/**
 * What a storage of main sessions and of the forest adds.
 *
 * @type {MainCase[]}
 */
module.exports = [
  {
    name: 'sessions are listed in the order in which they were first put',
    async run(storage) {
      for (const id of ['c', 'a', 'b']) await storage.putSession(meta(id))
      await storage.putSession({ ...meta('c'), label: 'renamed' })
      assert.deepEqual((await storage.listSessions()).map(({ id, label }) => [id, label]), [['c', 'renamed'], ['a', 'label of a'], ['b', 'label of b']])
      assert.deepEqual((await storage.listSessions({})).map(({ id }) => id), ['c', 'a', 'b'])
    },
  },
  {
    name: 'sessions are listed by status, role and all of the given tags',
    async run(storage) {
      /** @type {Array<[string, Partial<SessionMeta>]>} */
      const put = [['a', { tags: ['x', 'y'] }], ['b', { status: 'archived', tags: ['x'] }], ['c', { role: 'main' }], ['d', { role: 'main', status: 'archived', tags: ['y', 'x', 'z'] }]]
      for (const [id, fields] of put) await storage.putSession({ ...meta(id), ...fields })
      const listed = async (/** @type {import('../../../index.js').SessionFilter} */ filter) => (await storage.listSessions(filter)).map(({ id }) => id)
      assert.deepEqual(await listed({ status: 'active' }), ['a', 'c'])
      assert.deepEqual(await listed({ role: 'main' }), ['c', 'd'])
      assert.deepEqual(await listed({ role: 'main', status: 'archived' }), ['d'])
      assert.deepEqual(await listed({ tags: ['x'] }), ['a', 'b', 'd'])
      assert.deepEqual(await listed({ tags: ['x', 'y'] }), ['a', 'd'])
      assert.deepEqual(await listed({ tags: ['x', 'none'] }), [])
      assert.deepEqual(await listed({ tags: [] }), ['a', 'b', 'c', 'd'])
      assert.deepEqual(await listed({ status: 'active', role: undefined, tags: ['y'] }), ['a'])
    },
  },
  {
    name: 'memories are listed for active standard sessions that have one',
    async run(storage) {
      await storage.putSession(meta('none'))
      await storage.putSession(meta('b'))
      await storage.putSession(meta('a'))
      await storage.putSession({ ...meta('gone'), status: 'archived' })
      await storage.putSession({ ...meta('main'), role: 'main' })
      for (const id of ['a', 'b', 'gone', 'main', 'without a session']) await storage.putMemory(id, `memory of ${id}`)
      const listed = (await storage.getAllSessionL2s()).toSorted((one, other) => (one.sessionId < other.sessionId ? -1 : 1))
      assert.deepEqual(listed.map((one) => ({ ...one })), [
        { sessionId: 'a', label: 'label of a', l2: 'memory of a' },
        { sessionId: 'b', label: 'label of b', l2: 'memory of b' },
      ])
    },
  },
  {
    name: 'nodes are put, replaced, moved and removed',
    async run(storage) {
      await storage.putNode({ id: 'root', parentId: null, label: 'Root' })
      await storage.putNode({ id: 'a', parentId: 'root', label: 'A' })
      await storage.putNode({ id: 'b', parentId: 'root', label: 'B' })
      await storage.putNode({ id: 'deep', parentId: 'a', label: 'Deep' })
      const children = async (/** @type {string} */ id) => (await storage.getChildren(id)).map(({ id: child, parentId, label }) => [child, parentId, label])
      assert.deepEqual(await children('root'), [['a', 'root', 'A'], ['b', 'root', 'B']])
      await storage.putNode({ id: 'a', parentId: 'root', label: 'A again' })
      assert.deepEqual(await children('root'), [['a', 'root', 'A again'], ['b', 'root', 'B']])
      await storage.putNode({ id: 'b', parentId: 'a', label: 'B' })
      assert.deepEqual(await children('root'), [['a', 'root', 'A again']])
      assert.deepEqual((await children('a')).toSorted(), [['b', 'a', 'B'], ['deep', 'a', 'Deep']])
      await storage.removeNode('a')
      await storage.removeNode('none')
      assert.deepEqual(await children('root'), [])
      assert.deepEqual((await children('a')).length, 2, 'what was under a removed node keeps its parent')
      assert.deepEqual(await children('none'), [])
    },
  },
  {
    name: 'globals hold any JSON value and are replaced',
    async run(storage) {
      assert.equal((await storage.getGlobal('key')) ?? null, null)
      for (const value of [{ a: [1, { b: null }] }, 'text', '', 0, false, true, [], [null], -1.5]) {
        await storage.putGlobal('key', value)
        assert.deepEqual(await storage.getGlobal('key'), value)
      }
      await storage.putGlobal('Key', 'other')
      await storage.putGlobal('key', null)
      assert.equal((await storage.getGlobal('key')) ?? null, null)
      assert.equal(await storage.getGlobal('Key'), 'other')
    },
  },
]
