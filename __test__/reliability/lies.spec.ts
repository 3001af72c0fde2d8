// A storage or a model whose answers are not what they should be, at every call in everything that a session does: it works all
// the same or says what was wrong, in the words of the interface. Nothing is stored then, and the next turn works.
//
//   STELLO_FAULTS=all npx vitest run __test__/reliability/lies.spec.ts   every lie at every call, not one in five
import { StorageError, ToolResultsError, type LLMAdapter, type Message } from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { MapStorage } from '../support/map-storage.js'
import { dump, kinds, makeWorld, model } from './kinds.js'
import { Trap, type Call } from './trap.js'

const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic
const revocable = Proxy.revocable({}, {})
revocable.revoke()
const own = new Error('the getter of the application')
const fails = () => {
  throw own
}
const called = (call: unknown) => [{ role: 'assistant', content: '', toolCalls: call }]

const lies: Array<[string, unknown]> = [
  ['undefined', undefined], ['null', null], ['0', 0], ['1', 1], ['NaN', Number.NaN], ['1n', 1n], ['true', true], ["''", ''], ['a text', 'a text'], ['{}', {}], ['[]', []],
  ['[null]', [null]], ['[undefined]', [undefined]], ['[[]]', [[]]], ['[{}]', [{}]], ['holes', Array.from({ length: 3 }).fill(undefined)], ['a function', () => {}], ['a symbol', Symbol('s')],
  ['a cycle', cyclic], ['a list of cycles', [cyclic]], ['a date', new Date(0)], ['a map', new Map()], ['an error', new Error('handed out')], ['a revoked Proxy', revocable.proxy],
  ['a list with a revoked Proxy', [revocable.proxy]], ['a toJSON that throws', { toJSON: fails }], ['getters that throw', { get id() { return fails() }, get role() { return fails() }, get content() { return fails() }, get delta() { return fails() } }],
  ['a role that is none', [{ role: 'robot', content: '' }]], ['a content that is no text', [{ role: 'user', content: 1 }]], ['toolCalls that are no list', called({})], ['a call that is null', called([null])],
  ['a call id that is no text', called([{ id: 1 }])], ['an input with a bigint', called([{ id: 'x', name: 'n', input: { a: 1n } }])], ['an answered id that is no text', [{ role: 'tool', content: '', toolCallId: 1 }]],
  ['tool calls without a name', { content: '', toolCalls: [{}] }], ['a tool call that is cyclic', { content: '', toolCalls: [{ id: 'x', name: 'n', input: cyclic }] }], ['deltas that are none', { delta: '', toolCallDeltas: [null] }],
  ['usage that is text', { content: 'x', delta: 'x', usage: 'many' }], ['usage of strange numbers', { content: 'x', delta: 'x', usage: { promptTokens: -1, completionTokens: Number.NaN, cachedPromptTokens: 1e300 } }],
  ['a finish reason that is an object', { content: 'x', delta: 'x', finishReason: {} }], ['a step without a chunk', { done: false }], ['a step of a lie', { done: 0, value: 7 }], ['a frozen list', Object.freeze([Object.freeze({ role: 'user', content: 'x' })])],
]
const thorough = process.env.STELLO_FAULTS === 'all'
const liesAt = (at: number) => (thorough ? lies : lies.filter((_, n) => (n + at) % 5 === 0))

/** What may be said of a lie: by the interface, by the language about what an iterator gave, or what the application threw. */
function isClear(error: unknown, { method }: Call) {
  if (error === own) return true
  // An empty history is no lie that anybody could tell.
  if (error instanceof ToolResultsError && method === 'listRecords') return true
  if (!(error instanceof TypeError || error instanceof StorageError)) return false
  return error.message.includes(`${method}()`) || /^(the result of the model|Iterator result|tools )|in the result of|llm\.|revoked/.test(error.message)
}

async function trapped(kind: (typeof kinds)[number], where: 'storage' | 'model') {
  const trap = new Trap()
  const raw = new MapStorage()
  const { llm } = model(kind.window)
  const slippery: LLMAdapter = trap.around({ ...llm, complete: (messages: Message[]) => llm.complete(messages), stream: (messages: Message[]) => trap.around(llm.stream(messages)) })
  const made = await makeWorld(where === 'storage' ? trap.around(raw) : raw, where === 'model' ? slippery : llm, kind)
  return { trap, raw, made, before: await dump(raw) }
}

describe.each(['storage', 'model'] as const)('a %s that answers something else', (where) => {
  it.each(kinds.filter(({ turn }) => turn || where === 'storage'))('$name: works, or says what was wrong', { timeout: 60_000 }, async (kind) => {
    for (let at = 1, reached = true; reached; at += 1) {
      for (const [name, lie] of liesAt(at)) {
        const { trap, raw, made, before } = await trapped(kind, where)
        void trap.arm(at, async (call) => {
          await call.proceed()
          return lie
        })
        const outcome = await kind.run(made).then(() => 'works' as const, (error: unknown) => ({ error }))
        const call = trap.sprung
        trap.disarm()
        reached = call !== undefined
        if (call === undefined) break
        const whereabouts = `call ${at}, ${call.method}, answers ${name}`
        if (outcome !== 'works') {
          // A write that was done, and whose promise could not even be read, is a write that failed after all.
          const unreadable = lie === revocable.proxy
          if (!unreadable) expect(isClear(outcome.error, call) || String(outcome.error), whereabouts).toBe(true)
          if (!unreadable) expect(await dump(raw), whereabouts).toBe(before)
        }
        if (kind.name !== 'archive') await made.session.send('next')
        expect(Object.keys(Object.prototype), whereabouts).toEqual([])
      }
    }
  })
})
