// @ts-check
'use strict'

const assert = require('node:assert/strict')
const { contents, gate, meta, record } = require('./samples.cjs')

/** @import { NativeStorage, Message, NativeListRecordsOptions } from '../../../index.js' */
/** @import { Additions } from './index.cjs' */

/**
 * What the storages of this package add, by feature.
 *
 * @type {Additions}
 */
module.exports = {
  copies: [
    {
      name: 'nothing handed out is what is kept, and nothing kept is what was handed in',
      async run(storage) {
        const session = { ...meta('s'), tags: ['a'], metadata: { deep: { n: 1 } } }
        const message = { ...record('assistant', 'x'), toolCalls: [{ id: 'c', name: 'f', input: { deep: { n: 1 } } }] }
        await storage.putSession(session)
        await storage.appendRecord('s', message)
        alter(session, message)
        for (let round = 0; round < 2; round += 1) {
          const kept = await storage.getSession('s')
          const [listed] = await storage.listRecords('s')
          assert.deepEqual([kept?.tags, kept?.metadata], [['a'], { deep: { n: 1 } }])
          assert.deepEqual([listed?.content, listed?.toolCalls?.[0]?.input], ['x', { deep: { n: 1 } }])
          alter(kept, listed)
        }
      },
    },
  ],
  isolation: [
    {
      name: 'others see a transaction when it is done, and all of it',
      async run(storage) {
        await storage.appendRecord('s', record('user', 'before'))
        const inside = gate()
        const goOn = gate()
        const run = storage.transaction(async (tx) => {
          await tx.appendRecord('s', record('user', '1'))
          await tx.putMemory('s', 'new')
          inside.open()
          await goOn.opened
          await tx.appendRecord('s', record('user', '2'))
        })
        await inside.opened
        assert.deepEqual(await contents(storage, 's'), ['before'])
        assert.equal((await storage.getMemory('s')) ?? null, null)
        goOn.open()
        await run
        assert.deepEqual(await contents(storage, 's'), ['before', '1', '2'])
        assert.equal(await storage.getMemory('s'), 'new')
      },
    },
    {
      name: 'a transaction that fails undoes nothing of others',
      async run(storage) {
        const inside = gate()
        const goOn = gate()
        const failing = storage.transaction(async (tx) => {
          await tx.appendRecord('s', record('user', 'lost'))
          inside.open()
          await goOn.opened
          throw new Error('mine')
        })
        await inside.opened
        const other = storage.putMemory('other', 'kept')
        goOn.open()
        await assert.rejects(failing, /mine/)
        await other
        assert.equal(await storage.getMemory('other'), 'kept')
        assert.deepEqual(await contents(storage, 's'), [])
      },
    },
    {
      name: 'transactions at the same time never interleave within a session',
      async run(storage) {
        const turn = (/** @type {number} */ n) =>
          storage.transaction(async (tx) => {
            await tx.appendRecord('s', record('user', `${n}`))
            await new Promise((resolve) => setImmediate(resolve))
            await tx.appendRecord('s', record('assistant', `${n}`))
          })
        await Promise.all(Array.from({ length: 12 }, (_, n) => turn(n)))
        const all = await contents(storage, 's')
        assert.equal(all.length, 24)
        for (let n = 0; n < all.length; n += 2) assert.equal(all[n], all[n + 1])
      },
    },
  ],
  forest: [
    {
      name: 'a node is read by its id, roots are listed, children keep the order in which they were first put',
      async run(storage) {
        assert.equal((await storage.getNode('b')) ?? null, null)
        await storage.putNode({ id: 'b', parentId: null, label: 'B' })
        await storage.putNode({ id: 'a', parentId: null, label: 'A' })
        for (const id of ['z', 'y', 'x']) await storage.putNode({ id, parentId: 'b', label: id })
        await storage.putNode({ id: 'z', parentId: 'b', label: 'again' })
        assert.deepEqual({ ...(await storage.getNode('b')) }, { id: 'b', parentId: null, label: 'B' })
        assert.deepEqual((await storage.getChildren(null)).map(({ id }) => id), ['b', 'a'])
        assert.deepEqual((await storage.getChildren('b')).map(({ id, label }) => [id, label]), [['z', 'again'], ['y', 'y'], ['x', 'x']])
        await storage.removeNode('b')
        assert.equal((await storage.getNode('b')) ?? null, null)
        assert.deepEqual((await storage.getChildren(null)).map(({ id }) => id), ['a'])
      },
    },
  ],
  compressionCache: [
    {
      name: 'the summary of a session is kept as it was put, replaced, and apart from others',
      async run(storage) {
        assert.equal((await storage.getCompressionCache('s')) ?? null, null)
        await storage.appendRecord('s', record('user', '1'))
        for (const cache of [{ summary: 'one', compressedCount: 1, fingerprint: 'f' }, { summary: '二', compressedCount: 0, fingerprint: 'g "\\' }]) {
          await storage.putCompressionCache('s', { ...cache })
          assert.deepEqual({ ...(await storage.getCompressionCache('s')) }, cache)
        }
        assert.equal((await storage.getCompressionCache('other')) ?? null, null)
        const rolledBack = storage.transaction(async (tx) => {
          await tx.putCompressionCache('s', { summary: 'lost', compressedCount: 1, fingerprint: 'h' })
          throw new Error('mine')
        })
        await assert.rejects(rolledBack, /mine/)
        assert.equal((await storage.getCompressionCache('s'))?.summary, '二')
      },
    },
  ],
  last: [
    {
      name: 'the newest records are listed in order',
      async run(storage) {
        for (let n = 0; n < 6; n += 1) await storage.appendRecord('s', record(n % 3 === 0 ? 'user' : 'assistant', `${n}`))
        const listed = async (/** @type {NativeListRecordsOptions} */ options) => (await storage.listRecords('s', options)).map(({ content }) => content)
        assert.deepEqual(await listed({ last: 2 }), ['4', '5'])
        assert.deepEqual(await listed({ last: 9 }), ['0', '1', '2', '3', '4', '5'])
        assert.deepEqual(await listed({ last: 0 }), [])
        assert.deepEqual(await listed({ last: 1, role: 'user' }), ['3'])
        assert.deepEqual(await listed({ last: undefined, limit: 1 }), ['0'])
      },
    },
  ],
  deleteSession: [
    {
      name: 'a deleted session leaves nothing, and its id begins anew',
      async run(storage) {
        for (const id of ['s', 'other']) {
          await storage.putSession(meta(id))
          await storage.appendRecord(id, record('user', id))
          await storage.putSystemPrompt(id, id)
          await storage.putInsight(id, id)
          await storage.putMemory(id, id)
        }
        await storage.deleteSession('s')
        await storage.deleteSession('none')
        await assertGone(storage, 's')
        assert.deepEqual(await contents(storage, 'other'), ['other'])
        assert.equal(await storage.getMemory('other'), 'other')
        await storage.appendRecord('s', record('user', 'new'))
        assert.deepEqual(await contents(storage, 's'), ['new'])
        await assert.rejects(storage.transaction(async (tx) => {
          await tx.deleteSession('other')
          assert.deepEqual(await contents(tx, 'other'), [])
          throw new Error('mine')
        }), /mine/)
        assert.deepEqual(await contents(storage, 'other'), ['other'])
      },
    },
  ],
  joining: [
    {
      name: 'calls on the storage itself from within a transaction join it',
      async run(storage) {
        await assert.rejects(storage.transaction(async (tx) => {
          await tx.appendRecord('s', record('user', '1'))
          await storage.appendRecord('s', record('user', '2'))
          await Promise.all([storage.putInsight('s', 'i'), storage.putMemory('s', 'm')])
          assert.deepEqual(await contents(tx, 's'), ['1', '2'])
          assert.deepEqual(await contents(storage, 's'), ['1', '2'])
          throw new Error('mine')
        }), /mine/)
        assert.deepEqual(await contents(storage, 's'), [])
        assert.equal((await storage.getMemory('s')) ?? null, null)
      },
    },
    {
      name: 'a transaction within a transaction joins it',
      async run(storage) {
        const nested = (/** @type {boolean} */ fails) =>
          storage.transaction(async (tx) => {
            await tx.appendRecord('s', record('user', '1'))
            const got = await storage.transaction(async (inner) => {
              await inner.appendRecord('s', record('user', '2'))
              return tx.transaction(async (innermost) => {
                await innermost.appendRecord('s', record('user', '3'))
                return contents(innermost, 's')
              })
            })
            assert.deepEqual(got, ['1', '2', '3'])
            if (fails) throw new Error('mine')
          })
        await assert.rejects(nested(true), /mine/)
        assert.deepEqual(await contents(storage, 's'), [])
        await nested(false)
        assert.deepEqual(await contents(storage, 's'), ['1', '2', '3'])
      },
    },
    {
      name: 'a transaction within a transaction that rejects leaves nothing, even where it is caught',
      async run(storage) {
        const outer = storage.transaction(async (tx) => {
          await tx.appendRecord('s', record('user', '1'))
          const inner = storage.transaction(async (nested) => {
            await nested.appendRecord('s', record('user', 'half'))
            throw new Error('mine')
          })
          await assert.rejects(inner, /mine/)
        })
        await outer.catch(() => {})
        assert.ok(!(await contents(storage, 's')).includes('half'))
      },
    },
  ],
  close: [
    {
      name: 'a closed storage refuses calls, and may be closed again',
      async run(storage) {
        await storage.appendRecord('s', record('user', '1'))
        await storage.close()
        await storage.close()
        const calls = [() => storage.listRecords('s'), () => storage.appendRecord('s', record('user', '2')), () => storage.transaction(async () => {})]
        for (const call of calls) await assert.rejects(async () => call(), Error)
      },
    },
  ],
}

/**
 * @param {any} session
 * @param {any} message
 */
function alter(session, message) {
  session.tags.push('b')
  session.metadata.deep.n = 2
  message.content = 'y'
  message.toolCalls[0].input.deep.n = 2
}

/**
 * @param {NativeStorage} storage
 * @param {string} id
 */
async function assertGone(storage, id) {
  const kept = [await storage.getSession(id), await storage.getSystemPrompt(id), await storage.getInsight(id), await storage.getMemory(id)]
  assert.deepEqual(kept.map((value) => value ?? null), [null, null, null, null])
  assert.deepEqual(/** @type {Message[]} */ (await storage.listRecords(id)), [])
}
