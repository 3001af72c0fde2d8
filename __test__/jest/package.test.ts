import {
  InMemoryStorageAdapter,
  LLMError,
  MainSession,
  Session,
  SessionArchivedError,
  SqliteStorageAdapter,
  StorageError,
  ToolResultsError,
  createMainSession,
  createOpenAICompatibleAdapter,
  createSession,
  forkSession,
  loadSession,
  type LLMAdapter,
} from '@stello-ai/session'
import { expect, jest, test } from '@jest/globals'
import { checkSchoolDay, checkShopDay } from '../support/applications.js'
import { MapStorage } from '../support/map-storage.js'

const storages = [() => new MapStorage(), () => new InMemoryStorageAdapter(), () => new SqliteStorageAdapter({ path: ':memory:' })]
const answering = () => ({ maxContextTokens: 1000, complete: jest.fn<LLMAdapter['complete']>().mockResolvedValue({ content: 'answer' }) })

test.each(storages)('sessions are instances of their classes (storage %#)', async (make) => {
  const storage = make()
  const main = await createMainSession({ storage })
  const session = await createSession({ storage, parentId: null })
  expect(main).toBeInstanceOf(MainSession)
  expect(session).toBeInstanceOf(Session)
  expect(session).not.toBeInstanceOf(MainSession)
  expect(await loadSession(session.meta.id, { storage })).toBeInstanceOf(Session)
  expect(await forkSession(session, { label: 'c' })).toBeInstanceOf(Session)
})

test.each(storages)('values are of this realm, and equal what is expected of them (storage %#)', async (make) => {
  const session = await createSession({ storage: make(), llm: answering(), tags: ['t'], metadata: { a: [1] } })
  expect(session.meta.tags).toBeInstanceOf(Array)
  expect(session.meta.metadata).toStrictEqual({ a: [1] })
  expect(await session.send('hi')).toStrictEqual({ content: 'answer' })
  const records = await session.messages()
  expect(records).toBeInstanceOf(Array)
  expect(records).toStrictEqual([{ role: 'user', content: 'hi', timestamp: expect.any(String) }, { role: 'assistant', content: 'answer', timestamp: expect.any(String) }])
  expect(session.send('again')).toBeInstanceOf(Promise)
})

test.each(storages)('errors are errors of this realm (storage %#)', async (make) => {
  const session = await createSession({ storage: make(), llm: answering() })
  await expect(session.send({ toolResults: [{ toolCallId: 'x', success: true }] })).rejects.toBeInstanceOf(ToolResultsError)
  await expect(session.send(7 as never)).rejects.toBeInstanceOf(TypeError)
  session.setLLM(createOpenAICompatibleAdapter({ baseURL: 'http://127.0.0.1:1', model: 'm', apiKey: '', maxContextTokens: 1000, maxRetries: 0 }))
  const failure: unknown = await session.send('hi').catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(LLMError)
  expect(failure).toBeInstanceOf(Error)
  expect((failure as LLMError).cause).toBeInstanceOf(Error)
  const mine = new RangeError('mine')
  session.setLLM({ maxContextTokens: 1000, complete: () => Promise.reject(mine) })
  await expect(session.send('hi')).rejects.toBe(mine)
  await session.archive()
  await expect(session.send('hi')).rejects.toThrow(SessionArchivedError)
  expect(() => session.stream('hi')).toThrow(SessionArchivedError)
})

test('a closed storage fails with StorageError', async () => {
  const storage = new InMemoryStorageAdapter()
  await storage.close()
  await expect(createSession({ storage })).rejects.toBeInstanceOf(StorageError)
})

test.each(storages)('spies see the calls of a session, and mocks answer them (storage %#)', async (make) => {
  const storage = make()
  const llm = answering()
  const session = await createSession({ storage, llm, label: '' })
  const append = jest.spyOn(storage, 'appendRecord')
  await session.send('one')
  expect(append.mock.calls.map(([, record]) => record.content)).toEqual(['one', 'answer'])
  const list = jest.spyOn(storage, 'listRecords').mockResolvedValue([{ role: 'user', content: 'mocked' }])
  await session.send('two')
  expect(llm.complete.mock.calls[1]?.[0].map(({ content }) => content)).toEqual(['mocked', 'two'])
  list.mockRestore()
  append.mockRestore()
  expect(await session.messages()).toHaveLength(4)
  expect(llm.complete).toHaveBeenCalledTimes(2)
})

test('a stream is iterated', async () => {
  const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: answering() })
  const pieces: string[] = []
  for await (const piece of session.stream('hi')) pieces.push(piece)
  expect(pieces).toEqual(['answer'])
})

test('fake timers do not hold up a turn', async () => {
  jest.useFakeTimers()
  try {
    const session = await createSession({ storage: new SqliteStorageAdapter({ path: ':memory:' }), llm: answering() })
    expect((await session.send('hi')).content).toBe('answer')
  } finally {
    jest.useRealTimers()
  }
})

test.each(storages)('applications of both generations run as they are (storage %#)', async (make) => {
  for (const [found, wanted] of [...(await checkSchoolDay(make())), ...(await checkShopDay(make()))]) expect(found).toEqual(wanted)
})
