// A second file, whose modules are a copy of their own in the same process.
import { InMemoryStorageAdapter, Session, createSession } from '@stello-ai/session'
import { expect, test } from '@jest/globals'

test('another test file has the package to itself', async () => {
  const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: { maxContextTokens: 1000, complete: async () => ({ content: 'answer' }) } })
  expect(session).toBeInstanceOf(Session)
  expect((await session.send('hi')).content).toBe('answer')
  await expect(session.send(undefined as never)).rejects.toBeInstanceOf(TypeError)
})
