// A storage or a model that goes wrong at one call: at every call that a session makes, in every way, in everything that a session
// does. However it goes, what is stored is a beginning of whole turns: nothing of what failed, all of what did not. And what failed
// can be done again, and comes to the same.
//
//   STELLO_FAULTS=all npx vitest run __test__/reliability/faults.spec.ts   every fault at every call, not two, and PostgreSQL
import { InMemoryStorageAdapter, SqliteStorageAdapter, type LLMAdapter, type MainStorage, type Message, type NativeStorage } from '@stello-ai/session'
import { afterEach, describe, expect, it } from 'vitest'
import { CachingMapStorage } from '../support/caching-map-storage.js'
import { MapStorage } from '../support/map-storage.js'
import { postgresSchema } from '../support/storages.js'
import { dump, kinds, makeWorld, model, type Kind } from './kinds.js'
import { Trap, faults, thrown, ticks, type Call } from './trap.js'

const thorough = process.env.STELLO_FAULTS === 'all'

type Outcome = { value: unknown } | { error: unknown }
const settle = (run: () => Promise<unknown>): Promise<Outcome> => run().then((value) => ({ value }), (error: unknown) => ({ error }))

const opened: NativeStorage[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((storage) => storage.close()))
})
function keep<S extends NativeStorage>(storage: S) {
  opened.push(storage)
  return storage
}

const javaScript: Record<string, () => MainStorage> = {
  'a JavaScript storage': () => new MapStorage(),
  'a JavaScript storage that keeps summaries': () => new CachingMapStorage(),
}
const native: Record<string, () => MainStorage> = {
  'the in-memory storage': () => new InMemoryStorageAdapter(),
  SQLite: () => keep(new SqliteStorageAdapter({ path: ':memory:' })),
}

/** What it comes to if nothing goes wrong: before, after, and after one turn more. */
interface Whole {
  before: string
  after: string
  later: string
  prompt: string
}

const shown = (prompts: Message[][]) => JSON.stringify(prompts.at(-1)?.map((message) => ({ ...message, timestamp: undefined })))

/** A world in which a storage or a model misbehaves. */
async function trapped(make: () => MainStorage, kind: Kind, where: 'storage' | 'model') {
  const trap = new Trap()
  const raw = make()
  const { llm, prompts } = model(kind.window)
  const slippery: LLMAdapter = trap.around({ ...llm, complete: (messages: Message[]) => llm.complete(messages), stream: (messages: Message[]) => trap.around(llm.stream(messages)) })
  const made = await makeWorld(where === 'storage' ? trap.around(raw) : raw, where === 'model' ? slippery : llm, kind)
  return { trap, raw, prompts, made, now: () => dump(raw) }
}
type Trapped = Awaited<ReturnType<typeof trapped>>

const withoutNodes = (state: string) => JSON.stringify(JSON.parse(state, (key, value) => (key === 'children' || key === 'roots' ? undefined : value)))
/** Every call goes wrong, in two of the ways, and in the next call in two others. */
const faultsAt = (at: number) => (thorough ? faults : faults.filter((_, n) => (n + at) % (faults.length / 2) === 0))
const archived = (kind: Kind) => kind.name === 'archive'

async function wholly(make: () => MainStorage, kind: Kind): Promise<Whole> {
  const { raw, prompts, made, now } = await trapped(make, kind, 'storage')
  const before = await now()
  await kind.run(made)
  const after = await now()
  if (!archived(kind)) await made.session.send('next')
  const whole = { before, after, later: await now(), prompt: shown(prompts) }
  if (raw instanceof SqliteStorageAdapter) await raw.close()
  return whole
}

/** What must hold once the trouble is over. */
async function recovers({ trap, prompts, made, now }: Trapped, kind: Kind, whole: Whole, whereabouts: string) {
  const call = trap.sprung
  trap.disarm()
  await ticks(8)
  const state = await now()
  if (kind.makesNode === true && call?.method === 'transaction' && state !== whole.before && state !== whole.after) {
    // A storage that says of a transaction that it failed, and has kept it: then the node is taken back all the same.
    expect(withoutNodes(state), whereabouts).toBe(withoutNodes(whole.after))
    return
  }
  expect([whole.before, whole.after], `${whereabouts}: whole turns only`).toContain(state)
  if (state !== whole.after || kind.repeatable === true) {
    await kind.run(made)
    expect(await now(), `${whereabouts}: done again`).toBe(whole.after)
  }
  if (archived(kind)) return
  await made.session.send('next')
  expect(await now(), `${whereabouts}: the next turn`).toBe(whole.later)
  // A summary that could not be read is made anew, and need not be the same.
  if (call?.method !== 'getCompressionCache') expect(shown(prompts), `${whereabouts}: the next prompt`).toBe(whole.prompt)
}

/** What may fail without failing what it is a part of. */
const dispensable = ({ method }: Call) => method === 'getCompressionCache' || method === 'putCompressionCache' || method === 'return'
/** What comes after the model's answer, when it is too late to stop. */
const committing = ({ method, inTransaction }: Call) => inTransaction || method === 'transaction' || method === 'putCompressionCache'

const places: Array<[string, () => MainStorage, 'storage' | 'model']> = [
  ...Object.entries({ ...javaScript, ...native }).map(([name, make]): [string, () => MainStorage, 'storage'] => [`${name} goes wrong`, make, 'storage']),
  ...Object.entries({ ...javaScript, ...native, ...(thorough && { PostgreSQL: postgresSchema }) }).map(([name, make]): [string, () => MainStorage, 'model'] => [`the model goes wrong over ${name}`, make, 'model']),
]
const kindsOf = (where: 'storage' | 'model') => kinds.filter(({ turn }) => turn || where === 'storage')

describe.each(places)('where %s', (_, make, where) => {
  it.each(kindsOf(where))('$name is whole or not at all, whatever call fails in whatever way', { timeout: 60_000 }, async (kind) => {
    const whole = await wholly(make, kind)
    for (let at = 1, reached = true; reached; at += 1) {
      for (const fault of faultsAt(at)) {
        const tried = await trapped(make, kind, where)
        const error = thrown[at % thrown.length]
        void tried.trap.arm(at, fault.misbehave(error))
        const outcome = await settle(() => kind.run(tried.made))
        const call = tried.trap.sprung
        reached = call !== undefined
        const whereabouts = `call ${at}, ${call?.method}, ${fault.name}`
        if (call === undefined || fault.does === 'its work, and says so') {
          expect(outcome, whereabouts).toHaveProperty('value')
          expect(await tried.now(), whereabouts).toBe(whole.after)
        } else if ('error' in outcome) {
          expect(Object.is(outcome.error, error), `${whereabouts}: the same error, got ${String(outcome.error)}`).toBe(true)
          if (fault.does === 'nothing') expect(await tried.now(), whereabouts).toBe(whole.before)
        } else {
          expect(dispensable(call), `${whereabouts}: is told`).toBe(true)
        }
        await recovers(tried, kind, whole, whereabouts)
      }
    }
  })

  it.each(kindsOf(where))('$name does not hang with a call that does, once it is aborted or the call comes to its end', { timeout: 60_000 }, async (kind) => {
    const whole = await wholly(make, kind)
    for (const end of ['with an answer', 'with an error'] as const) {
      for (let at = 1; ; at += 1) {
        const tried = await trapped(make, kind, where)
        const error = new Error('planted')
        let release = () => {}
        const sprung = tried.trap.arm(at, (call) => new Promise((resolve, reject) => {
          release = () => (end === 'with an answer' ? resolve(call.proceed()) : reject(error))
        }))
        const stop = new AbortController()
        const run = settle(() => kind.run(tried.made, stop.signal))
        await Promise.race([sprung, run])
        const call = tried.trap.sprung
        if (call === undefined) break
        const whereabouts = `call ${at}, ${call.method}, ending ${end}`
        const reason = new Error('enough')
        stop.abort(reason)
        if (kind.turn && !committing(call)) {
          expect(await run, whereabouts).toEqual({ error: reason })
          expect(await tried.now(), whereabouts).toBe(whole.before)
          release()
          await ticks(8)
          expect(await tried.now(), `${whereabouts}: afterwards`).toBe(whole.before)
        } else {
          release()
          const outcome = await run
          if (end === 'with an answer') expect(outcome, whereabouts).toHaveProperty('value')
          else if (!dispensable(call)) expect(outcome, whereabouts).toEqual({ error })
        }
        await recovers(tried, kind, whole, whereabouts)
      }
    }
  })
})
