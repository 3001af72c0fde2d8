// Loads the package, makes what can be made without a first use, and tells how many threads that started.
import { existsSync, readdirSync } from 'node:fs'

const threads = () => (existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : 0)
const before = threads()
const { createGPT, InMemoryStorageAdapter, SqliteStorageAdapter } = await import('@stello-ai/session')
const kept = [createGPT({ model: 'gpt-4o', apiKey: 'key' }), new InMemoryStorageAdapter(), new SqliteStorageAdapter({ path: ':memory:' })]
console.log(JSON.stringify({ kept: kept.length, started: threads() - before }))
