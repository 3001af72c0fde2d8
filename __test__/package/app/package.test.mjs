// @ts-check
// For vitest.
import * as session from '@stello-ai/session'
import { expect, it } from 'vitest'
import { converse, expected } from './converse.cjs'

it('holds a conversation', async () => {
  expect(await converse(session)).toEqual(expected)
})

it('rejects with its own errors', async () => {
  const { send, archive } = await session.createSession({ storage: new session.InMemoryStorageAdapter() })
  await archive()
  await expect(send('hello')).rejects.toBeInstanceOf(session.SessionArchivedError)
})
