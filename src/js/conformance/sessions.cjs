// @ts-check
'use strict'

const assert = require('node:assert/strict')
const { createMainSession, createSession, loadSession } = require('../index.cjs')
const { contents } = require('./samples.cjs')

/** @import { LLMAdapter, LLMResult } from '../../../index.js' */
/** @import { Case, MainCase } from './index.cjs' */

/**
 * @param {(content: string) => LLMResult} answer
 * @returns {LLMAdapter}
 */
function model(answer) {
  return { maxContextTokens: 100_000, complete: async (messages) => answer(messages.at(-1)?.content ?? '') }
}

const echo = model((content) => ({ content: `re: ${content}` }))

/**
 * Sessions at work on the storage.
 *
 * @type {Case[]}
 */
const session = [
  {
    name: 'a session is created, talked to, loaded and talked to again',
    async run(storage) {
      const made = await createSession({ storage, llm: echo, label: 'Talk', systemPrompt: 'Be brief.', tags: ['t'], metadata: { n: 1 } })
      await made.setInsight('once')
      assert.equal((await made.send('hello')).content, 're: hello')
      assert.equal(await made.insight(), null)
      await made.consolidate(async () => 'memory')
      const loaded = await loadSession(made.meta.id, { storage, llm: echo })
      assert.deepEqual(loaded?.meta, made.meta)
      await loaded?.send('again')
      assert.deepEqual(await contents(storage, made.meta.id), ['hello', 're: hello', 'again', 're: again'])
      assert.equal(await storage.getSystemPrompt(made.meta.id), 'Be brief.')
      assert.equal(await storage.getMemory(made.meta.id), 'memory')
      await loaded?.archive()
      assert.equal((await storage.getSession(made.meta.id))?.status, 'archived')
      assert.equal((await contents(storage, made.meta.id)).length, 4)
    },
  },
  {
    name: 'a turn with tool calls and their results is kept',
    async run(storage) {
      const input = { city: 'Kyoto', days: [1, 2] }
      const llm = model((content) => (content === 'go' ? { content: null, toolCalls: [{ id: 'c', name: 'f', input }] } : { content: 'done' }))
      const made = await createSession({ storage, llm })
      await made.send('go')
      const again = await loadSession(made.meta.id, { storage, llm })
      await again?.send({ toolResults: [{ toolCallId: 'c', success: false, error: 'closed' }] })
      const [, called, answered] = await storage.listRecords(made.meta.id)
      assert.deepEqual(called?.toolCalls, [{ id: 'c', name: 'f', input }])
      assert.deepEqual([answered?.role, answered?.content, answered?.toolCallId, answered?.isError], ['tool', 'closed', 'c', true])
    },
  },
  {
    name: 'turns at the same time are kept one after another',
    async run(storage) {
      const made = await createSession({ storage, llm: echo })
      await Promise.all(['a', 'b', 'c'].map((content) => made.send(content)))
      assert.deepEqual(await contents(storage, made.meta.id), ['a', 're: a', 'b', 're: b', 'c', 're: c'])
    },
  },
  {
    name: 'a fork copies the history, and both go on by themselves',
    async run(storage) {
      const parent = await createSession({ storage, llm: echo })
      await parent.send('shared')
      const child = await parent.fork({ label: 'Child', context: 'inherit', prompt: 'Hello!' })
      await child.send('mine')
      assert.deepEqual(await contents(storage, child.meta.id), ['shared', 're: shared', 'Hello!', 'mine', 're: mine'])
      assert.deepEqual(await contents(storage, parent.meta.id), ['shared', 're: shared'])
    },
  },
]

/** @type {MainCase[]} */
const main = [
  {
    name: 'a main session integrates the memories of all into a synthesis and insights',
    async run(storage) {
      const overall = await createMainSession({ storage, llm: echo })
      const child = await createSession({ storage, llm: echo, label: 'Child' })
      await child.consolidate(async () => 'knows apples')
      await overall.integrate(async (children, current) => ({
        synthesis: `${current}; ${children.map(({ label, l2 }) => `${label} ${l2}`).join()}`,
        insights: children.map(({ sessionId }) => ({ sessionId, content: 'look at pears' })),
      }))
      assert.equal(await storage.getMemory(overall.meta.id), 'null; Child knows apples')
      assert.equal(await storage.getInsight(child.meta.id), 'look at pears')
    },
  },
]

module.exports = { main, session }
