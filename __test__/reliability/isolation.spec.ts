// A session's data is its own, whatever ids are given: nothing of another is in its prompts, its records or its slots, and nothing that
// is done to one is done to another.
import { createMainSession, createOpenAICompatibleAdapter, createSession, forkSession, listSessionDigests, loadSession, type MainStorage, type Session } from '@stello-ai/session'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recording } from '../support/adapters.js'
import { allStorages } from '../support/storages.js'
import { ids } from './hostile.js'

/** The last request that a native model made, parsed. */
let asked: { messages: Array<{ content: string }> } = { messages: [] }
const server = createServer(async (request, response) => {
  let body = ''
  for await (const part of request.setEncoding('utf8')) body += part
  asked = JSON.parse(body) as typeof asked
  response.end(JSON.stringify({ choices: [{ message: { content: `native ${asked.messages.at(-1)?.content}` }, finish_reason: 'stop' }] }))
})
let baseURL: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** What belongs to a session says so: `«n»`. */
const of = (n: number) => `\u00ab${n}\u00bb`
const owners = (text: string) => [...new Set([...text.matchAll(/\u00ab(\d+)\u00bb/g)].map(([, n]) => Number(n)))]

async function all(storage: MainStorage, id: string) {
  return JSON.stringify([await storage.getSession(id), await storage.listRecords(id), await storage.getSystemPrompt(id), await storage.getInsight(id), await storage.getMemory(id)])
}

async function populate(storage: MainStorage) {
  const llm = recording((messages) => ({ content: `answer ${messages.at(-1)?.content}` }))
  const sessions: Session[] = []
  for (const [n, id] of ids.entries()) {
    const session = await createSession({ storage, id, llm, label: `label ${of(n)}`, systemPrompt: `prompt ${of(n)}`, tags: [of(n)], metadata: { own: of(n) }, parentId: null })
    await session.setInsight(`insight ${of(n)}`)
    await session.consolidate(async () => `memory ${of(n)}`)
    sessions.push(session)
  }
  return { llm, sessions }
}

describe.each(allStorages)('on $name', ({ make }) => {
  it(`${ids.length} sessions whose ids are hard to tell apart are apart, in every prompt`, { timeout: 60_000 }, async () => {
    const storage = make()
    const { llm, sessions } = await populate(storage)
    const native = createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 100_000 })
    for (const [n, session] of sessions.entries()) {
      await session.send(`question ${of(n)}`)
      expect(owners(JSON.stringify(llm.prompts.at(-1))), JSON.stringify(ids[n])).toEqual([n])
      const loaded = await loadSession(ids[n] ?? '', { storage, llm: native })
      expect(loaded?.meta).toMatchObject({ id: ids[n], label: `label ${of(n)}` })
      await loaded?.stream(`another ${of(n)}`).result
      expect(owners(JSON.stringify(asked)), JSON.stringify(ids[n])).toEqual([n])
      expect(asked.messages).toHaveLength(4)
    }
    for (const [n, id] of ids.entries()) expect(owners(await all(storage, id)), JSON.stringify(id)).toEqual([n])
    const digests = await listSessionDigests(storage)
    expect(digests.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    for (const { id, label, memory } of digests) expect(owners(`${label} ${memory}`), JSON.stringify(id)).toEqual([ids.indexOf(id)])
  })

  it('what is done to one is done to no other', { timeout: 60_000 }, async () => {
    const storage = make()
    const { sessions } = await populate(storage)
    for (const session of sessions) await session.send('question')
    const before = new Map(await Promise.all(ids.map(async (id) => [id, await all(storage, id)] as const)))
    const one = new Set<string>()
    const others = async () => {
      for (const id of ids) if (!one.has(id)) expect((await all(storage, id)) === before.get(id), JSON.stringify(id)).toBe(true)
    }
    for (const id of ['a', 'A', 'a%', '_', '\u0000', '\ud800', '\u212b', '__proto__', '../', '', ids.find(({ length }) => length === 10_000) ?? '']) {
      const session = sessions[ids.indexOf(id)] as Session
      one.add(id)
      await session.trimRecords(1)
      await session.setInsight('changed')
      await session.setSystemPrompt('changed')
      await session.updateMeta({ label: 'changed', tags: [], metadata: {} })
      await session.consolidate(async () => 'changed')
      const child = await forkSession(session, { label: 'child', context: 'inherit' })
      expect((await storage.getChildren(id)).map((node) => node.id)).toEqual([child.meta.id])
      await session.archive()
      if ('deleteSession' in storage) await (storage as { deleteSession(id: string): Promise<void> }).deleteSession(id)
      await others()
    }
    const main = await createMainSession({ storage, id: 'main', integrateFn: async (children) => ({ synthesis: `${children.length}`, insights: [{ sessionId: 'a\u0301', content: 'for one' }] }) })
    await main.integrate()
    one.add('a\u0301')
    expect(await storage.getInsight('a\u0301')).toBe('for one')
    await others()
  })

  it('the same id on two storages names two sessions, with an archived state, an order and a summary of its own', async () => {
    const [one, two] = [make(), make()]
    const llm = recording((messages) => ({ content: `${messages.length}` }))
    const first = await createSession({ storage: one, llm, id: 's', label: 'first', systemPrompt: 'of the first' })
    const second = await createSession({ storage: two, llm, id: 's', label: 'second', systemPrompt: 'of the second' })
    await Promise.all([first.send('1'), second.send('2'), first.send('3'), second.send('4')])
    const texts = async (session: Session) => (await session.messages({ role: 'user' })).map(({ content }) => content)
    expect([await texts(first), await texts(second)]).toEqual([['1', '3'], ['2', '4']])
    for (const prompt of llm.prompts) expect(/first[^]*second|second[^]*first/.test(JSON.stringify(prompt))).toBe(false)
    await first.archive()
    expect([first.meta.status, second.meta.status]).toEqual(['archived', 'active'])
    await second.send('5')
    expect(await texts(second)).toEqual(['2', '4', '5'])
  })
})
