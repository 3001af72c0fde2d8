// What a transaction of a native storage holds, seen from JavaScript.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InMemoryStorageAdapter, SqliteStorageAdapter, StorageError, createSession, forkSession, loadSession, type LLMResult, type NativeStorage, type NativeStorageTransaction } from '@stello-ai/session'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { deferred, recording } from './support/adapters.js'
import { postgresStorage } from './support/postgres.js'

const folder = mkdtempSync(join(tmpdir(), 'stello-transactions-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const opened: NativeStorage[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((storage) => storage.close()))
})

let files = 0
type Limits = { transactionTimeoutMs?: number }
const sqlite = (limits: Limits) => new SqliteStorageAdapter({ path: join(folder, `${(files += 1)}.db`), synchronous: 'normal', ...limits })
const limited: Record<string, (limits: Limits) => NativeStorage> = { SQLite: sqlite, 'SQLite in memory': (limits) => new SqliteStorageAdapter({ path: ':memory:', ...limits }), PostgreSQL: postgresStorage }
const storages: Record<string, (limits: Limits) => NativeStorage> = { 'the in-memory storage': () => new InMemoryStorageAdapter(), ...limited }

function keep(storage: NativeStorage) {
  opened.push(storage)
  return storage
}

const texts = async (storage: Pick<NativeStorageTransaction, 'listRecords'>, id = 's') => (await storage.listRecords(id)).map(({ content }) => content)
const user = (content: string) => ({ role: 'user' as const, content })

describe.each(Object.entries(storages))('a transaction of %s', (_, make) => {
  it('is undone by a throw that is not an error and not asynchronous', async () => {
    const storage = keep(make({}))
    const run = storage.transaction((tx) => {
      void tx.putMemory('s', 'lost').catch(() => {})
      // oxlint-disable-next-line no-throw-literal
      throw 'a string'
    })
    await expect(run).rejects.toBe('a string')
    expect(await storage.getMemory('s')).toBeNull()
  })

  it('refuses calls after its end', async () => {
    const storage = keep(make({}))
    let kept: NativeStorageTransaction | undefined
    await storage.transaction(async (tx) => void (kept = tx))
    await expect(kept?.putMemory('s', 'late')).rejects.toMatchObject({ name: 'StorageError', code: 'transaction', message: expect.stringContaining('putMemory() was called on a transaction that has ended') })
    await expect(kept?.transaction(async () => {})).rejects.toMatchObject({ code: 'transaction' })
    expect(await storage.getMemory('s')).toBeNull()
  })

  it('is left by what goes on after it has ended', async () => {
    const storage = keep(make({}))
    const { promise, resolve } = deferred()
    let background: Promise<void> | undefined
    await storage.transaction(async () => {
      background = promise.then(() => storage.putMemory('s', 'later'))
    })
    resolve()
    await background
    expect(await storage.getMemory('s')).toBe('later')
  })

  it('keeps nothing where one that joined it failed, even if that was caught', async () => {
    const storage = keep(make({}))
    const run = storage.transaction(async (tx) => {
      await tx.appendRecord('s', user('before'))
      await storage
        .transaction(async (inner) => {
          await inner.appendRecord('s', user('half'))
          throw new Error('mine')
        })
        .catch(() => {})
      await tx.appendRecord('s', user('after'))
    })
    await expect(run).rejects.toMatchObject({ code: 'transaction', message: expect.stringContaining('joined') })
    expect(await texts(storage)).toEqual([])
    await storage.transaction((tx) => tx.appendRecord('s', user('next')))
    expect(await texts(storage)).toEqual(['next'])
  })

  it('is joined by calls from timers, streams of promises and other functions called within', async () => {
    const storage = keep(make({}))
    const later = () => new Promise<void>((resolve, reject) => setTimeout(() => storage.appendRecord('s', user('timer')).then(resolve, reject), 1))
    const run = storage.transaction(async () => {
      await later()
      await Promise.all([storage.putMemory('a', '1'), storage.putMemory('b', '2'), queue(() => storage.putMemory('c', '3'))])
      throw new Error('mine')
    })
    await expect(run).rejects.toThrow('mine')
    expect([await texts(storage), await storage.getMemory('a'), await storage.getMemory('b'), await storage.getMemory('c')]).toEqual([[], null, null, null])
  })

  it('of one storage is not joined by calls on another, nor by calls from outside', async () => {
    const storage = keep(make({}))
    const other = keep(make({}))
    const outside = deferred()
    const inside = deferred()
    const run = storage.transaction(async (tx) => {
      await tx.putMemory('s', 'lost')
      await other.putMemory('s', 'kept')
      await other.transaction((its) => its.putMemory('t', 'kept too'))
      inside.resolve()
      await outside.promise
      throw new Error('mine')
    })
    await inside.promise
    expect(await storage.getMemory('s')).toBeNull()
    const write = storage.putMemory('u', 'from outside')
    outside.resolve()
    await expect(run).rejects.toThrow('mine')
    await write
    expect([await storage.getMemory('s'), await storage.getMemory('u'), await other.getMemory('s'), await other.getMemory('t')]).toEqual([null, 'from outside', 'kept', 'kept too'])
  })

  it('calls spies and replaced methods, which may call the bound originals', async () => {
    const storage = keep(make({}))
    const append = storage.appendRecord.bind(storage)
    const transaction = storage.transaction.bind(storage)
    const appended = vi.spyOn(storage, 'appendRecord').mockImplementation(async (id, record) => append(id, { ...record, content: `${record.content}!` }))
    const begun = vi.spyOn(storage, 'transaction').mockImplementation((fn) => transaction(fn))
    await storage.transaction(async (tx) => {
      await tx.appendRecord('s', user('1'))
      await storage.appendRecord('s', user('2'))
      await tx.transaction(async (inner) => inner.appendRecord('s', user('3')))
      await append('s', user('4'))
    })
    expect(appended).toHaveBeenCalledTimes(3)
    expect(begun).toHaveBeenCalledTimes(2)
    expect(await texts(storage)).toEqual(['1!', '2!', '3!', '4'])
    const session = await createSession({ storage, id: 's', llm: recording(() => ({ content: 'yes' })) })
    await session.send('go')
    expect((await texts(storage)).slice(4)).toEqual(['go!', 'yes!'])
    appended.mockRejectedValueOnce(new Error('spied'))
    await expect(session.send('again')).rejects.toThrow('spied')
    expect(await texts(storage)).toHaveLength(6)
  })

  it('holds what sessions do in it', async () => {
    const storage = keep(make({}))
    const llm = recording(({ length }): LLMResult => ({ content: `answer ${length}` }))
    const session = await createSession({ storage, llm, id: 's', label: '', parentId: null })
    await session.setInsight('insight')
    const work = (fails: boolean) =>
      storage.transaction(async () => {
        await session.send('one')
        expect(await session.insight()).toBeNull()
        const { result } = session.stream('two')
        await result
        const made = await createSession({ storage, llm, id: 'made', label: '' })
        await made.send('three')
        await session.consolidate(async () => 'memory')
        await forkSession(session, { label: 'child', context: 'inherit', id: 'child' })
        expect(await texts(storage, 'child')).toEqual(await texts(storage))
        if (fails) throw new Error('mine')
      })
    await expect(work(true)).rejects.toThrow('mine')
    expect([await texts(storage), await session.insight(), await session.memory()]).toEqual([[], 'insight', null])
    expect([await loadSession('made', { storage }), await loadSession('child', { storage }), await storage.getNode('child')]).toEqual([null, null, null])
    llm.prompts.length = 0
    await work(false)
    expect(llm.prompts[0]?.map(({ content }) => content)).toEqual(['insight', 'one'])
    expect(await texts(storage)).toEqual(['one', 'answer 2', 'two', 'answer 3'])
    expect([await texts(storage, 'made'), await session.memory(), (await storage.getNode('child'))?.parentId]).toEqual([['three', 'answer 1'], 'memory', 's'])
  })

  it('lets turns of other sessions wait or go on, and loses none', async () => {
    const storage = keep(make({}))
    const session = await createSession({ storage, llm: recording(), id: 's' })
    const inside = deferred()
    const goOn = deferred()
    const run = storage.transaction(async (tx) => {
      await tx.putMemory('t', 'kept')
      inside.resolve()
      await goOn.promise
    })
    await inside.promise
    const turn = session.send('meanwhile')
    goOn.resolve()
    await run
    await turn
    expect([(await texts(storage)).length, await storage.getMemory('t')]).toEqual([2, 'kept'])
  })
})

describe.each(Object.entries(limited))('a transaction of %s whose function never settles', (_, make) => {
  it('is rolled back and says so after its time', async () => {
    const storage = keep(make({ transactionTimeoutMs: 60 }))
    const run = storage.transaction(async (tx) => {
      await tx.putMemory('s', 'lost')
      await new Promise(() => {})
    })
    await expect(run).rejects.toThrow(StorageError)
    await expect(run).rejects.toMatchObject({ code: 'transaction', message: expect.stringContaining('open for longer than 60 ms and was rolled back') })
    await storage.putMemory('s', 'next')
    expect(await storage.getMemory('s')).toBe('next')
  })

  it('does nothing outside of it when it goes on after all', async () => {
    const storage = keep(make({ transactionTimeoutMs: 60 }))
    const goOn = deferred()
    const tried = deferred<unknown[]>()
    const run = storage.transaction(async (tx) => {
      await goOn.promise
      const calls = [tx.putMemory('s', 'late'), storage.putMemory('s', 'late'), storage.transaction((inner) => inner.putMemory('s', 'late'))]
      tried.resolve((await Promise.allSettled(calls)).map((outcome) => (outcome as PromiseRejectedResult).reason?.code))
      throw new Error('swallowed')
    })
    await expect(run).rejects.toMatchObject({ code: 'transaction' })
    goOn.resolve()
    expect(await tried.promise).toEqual(['transaction', 'transaction', 'transaction'])
    expect(await storage.getMemory('s')).toBeNull()
  })
})

async function queue<T>(work: () => Promise<T>) {
  await Promise.resolve()
  return work()
}
