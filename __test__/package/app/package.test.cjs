// @ts-check
'use strict'

// For jest.
const { expect, it } = require('@jest/globals')
const session = require('@stello-ai/session')
const { converse, expected } = require('./converse.cjs')

it('holds a conversation', async () => {
  expect(await converse(session)).toEqual(expected)
})

it('rejects with its own errors', async () => {
  const { send, archive } = await session.createSession({ storage: new session.InMemoryStorageAdapter() })
  await archive()
  await expect(send('hello')).rejects.toBeInstanceOf(session.SessionArchivedError)
})
