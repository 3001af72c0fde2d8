// Every kind of thing that a session does, on a prepared storage, so that the same can be tried with anything going wrong.
import {
  createMainSession,
  createSession,
  forkSession,
  loadSession,
  type LLMAdapter,
  type MainSession,
  type MainStorage,
  type Message,
  type Session,
} from '@stello-ai/session'

/** What is there before something goes wrong. */
export interface World {
  storage: MainStorage
  llm: LLMAdapter
  session: Session
  main: MainSession
}

export interface Kind {
  name: string
  /** Whether it takes a signal: whether it is a turn. */
  turn: boolean
  /** The window of the model, where it is not wide. */
  window?: number
  /** Whether doing it twice is as doing it once. */
  repeatable?: boolean
  /** Whether it makes a session with a node. */
  makesNode?: boolean
  /** What its storage holds besides. */
  prepare?(world: World): Promise<unknown>
  run(world: World, signal?: AbortSignal): Promise<unknown>
}

/** Answers to the last message alone; asks for a tool where that begins with `call`. */
export function answerTo(messages: Message[]) {
  const content = messages.at(-1)?.content ?? ''
  if (content.startsWith('call')) return { content: null, toolCalls: [{ id: `id of ${content}`, name: 'look_up', input: { what: content } }] }
  return { content: content.length > 60 ? `re: ${content.length} characters of ${content.slice(0, 12)}` : `re: ${content}` }
}

/** A deterministic model, whole and in pieces, that remembers what it was shown. */
export function model(window = 1_000_000) {
  const prompts: Message[][] = []
  const llm = {
    maxContextTokens: window,
    async complete(messages: Message[]) {
      prompts.push(structuredClone(messages))
      return answerTo(messages)
    },
    async *stream(messages: Message[]) {
      prompts.push(structuredClone(messages))
      const { content, toolCalls = [] } = answerTo(messages)
      for (const delta of (content ?? '').split(/(?<= )/)) yield { delta }
      yield { delta: '', toolCallDeltas: toolCalls.map(({ input, ...call }, index) => ({ index, ...call, input: JSON.stringify(input) })) }
    },
  } satisfies LLMAdapter
  return { llm, prompts }
}

const long = (name: string) => `${name} ${'says that the committee asked for a breakdown by region. '.repeat(20)}`

async function read(stream: ReturnType<Session['stream']>) {
  let text = ''
  for await (const piece of stream) text += piece
  return text
}

const pending = (world: World) => world.session.send('call 1')
const results = [{ toolCallId: 'id of call 1', toolName: 'look_up', success: true, data: { found: 3 } }]
const longHistory = async ({ session }: World) => {
  for (const n of [1, 2, 3, 4, 5, 6, 7]) {
    await session.send(long(`u${n}`))
    await session.setInsight('insight')
  }
}
const summarise = async (messages: Message[]) => `summary of ${messages.map(({ content }) => content.slice(0, 2)).join(' ')}`

export const kinds: Kind[] = [
  { name: 'send', turn: true, run: ({ session }, signal) => session.send('hello', { signal }) },
  { name: 'send that asks for a tool', turn: true, run: ({ session }, signal) => session.send('call 2', { signal }) },
  { name: 'stream that is iterated', turn: true, run: ({ session }, signal) => read(session.stream('hello there', { signal })) },
  { name: 'stream whose result is read', turn: true, run: ({ session }, signal) => session.stream('hello there', { signal }).result },
  { name: 'stream that asks for a tool', turn: true, run: ({ session }, signal) => session.stream('call 2', { signal }).result },
  { name: 'tool results', turn: true, prepare: pending, run: ({ session }, signal) => session.send({ toolResults: results }, { signal }) },
  {
    name: 'tool results as text, streamed',
    turn: true,
    prepare: pending,
    run: ({ session }, signal) => read(session.stream(JSON.stringify({ toolResults: results }), { signal })),
  },
  {
    name: 'send that compresses with compressFn',
    turn: true,
    window: 2_400,
    async prepare(world) {
      await longHistory(world)
      world.session = (await loadSession('s', { ...world, compressFn: summarise })) ?? world.session
    },
    run: ({ session }, signal) => session.send(long('last'), { signal }),
  },
  { name: 'send that compresses with its model', turn: true, window: 2_400, prepare: longHistory, run: ({ session }, signal) => session.send(long('last'), { signal }) },
  { name: 'send of a main session', turn: true, run: ({ main }, signal) => main.send('hello', { signal }) },
  { name: 'stream of a main session', turn: true, run: ({ main }, signal) => read(main.stream('hello there', { signal })) },
  { name: 'fork', turn: false, run: ({ session }) => session.fork({ id: 'child', label: 'child' }) },
  { name: 'fork with the history and a prompt', turn: false, run: ({ session }) => session.fork({ id: 'child', label: 'child', context: 'inherit', prompt: 'P2' }) },
  {
    name: 'fork with a function, of a main session',
    turn: false,
    run: ({ main }) => main.fork({ id: 'child', label: 'child', context: async (records) => records.slice(-2), tags: ['t'], metadata: { m: 1 } }),
  },
  { name: 'forkSession', turn: false, makesNode: true, run: ({ session }) => forkSession(session, { id: 'child', label: 'child', context: 'inherit' }) },
  { name: 'createSession', turn: false, run: ({ storage, llm }) => createSession({ storage, llm, id: 'child', systemPrompt: 'P2', tags: ['t'] }) },
  { name: 'createSession with a node', turn: false, makesNode: true, run: ({ storage, llm }) => createSession({ storage, llm, id: 'child', systemPrompt: 'P2', parentId: 's' }) },
  { name: 'createMainSession as a root', turn: false, makesNode: true, run: ({ storage, llm }) => createMainSession({ storage, llm, id: 'child', parentId: null }) },
  { name: 'loadSession that stores a system prompt', turn: false, run: ({ storage, llm }) => loadSession('m', { storage, llm, systemPrompt: 'P2' }) },
  { name: 'setSystemPrompt', turn: false, repeatable: true, run: ({ session }) => session.setSystemPrompt('P2') },
  { name: 'setInsight', turn: false, repeatable: true, run: ({ session }) => session.setInsight('another') },
  { name: 'updateMeta', turn: false, repeatable: true, run: ({ session }) => session.updateMeta({ label: 'L', tags: ['t'], metadata: { m: 1 } }) },
  { name: 'trimRecords', turn: false, run: ({ session }) => session.trimRecords(2) },
  { name: 'archive', turn: false, repeatable: true, run: ({ session }) => session.archive() },
  { name: 'consolidate', turn: false, run: ({ session }) => session.consolidate(async (memory, messages) => `${memory} and ${messages.length}`) },
  {
    name: 'integrate',
    turn: false,
    run: ({ main }) =>
      main.integrate(async (children, synthesis) => ({
        synthesis: `${synthesis} and ${children.map(({ l2 }) => l2).join()}`,
        insights: children.map(({ sessionId }) => ({ sessionId, content: 'integrated' })),
      })),
  },
]

/** A storage with two sessions that have everything, and handles on them. */
export async function makeWorld(storage: MainStorage, llm: LLMAdapter, kind: Kind): Promise<World> {
  const session = await createSession({ storage, llm, id: 's', label: 'S', systemPrompt: 'P', parentId: null })
  const main = await createMainSession({ storage, llm, id: 'm', label: 'M' })
  await session.send('u1')
  await session.stream('u2').result
  await main.send('u3')
  await session.setInsight('insight')
  await session.consolidate(async () => 'memory')
  await main.integrate(async () => ({ synthesis: 'synthesis', insights: [] }))
  const made = { storage, llm, session, main }
  await kind.prepare?.(made)
  return made
}

/** All that a storage keeps, but for what the clock and chance decide. */
export async function dump(storage: MainStorage) {
  const metas = await storage.listSessions()
  const sessions: Record<string, unknown> = {}
  for (const id of ['s', 'm', 'child']) {
    const meta = metas.find((one) => one.id === id)
    sessions[id] = {
      meta: meta && { ...meta, createdAt: undefined, updatedAt: undefined },
      records: (await storage.listRecords(id)).map((record) => ({ ...record, timestamp: undefined })),
      systemPrompt: await storage.getSystemPrompt(id),
      insight: await storage.getInsight(id),
      memory: await storage.getMemory(id),
      children: (await storage.getChildren(id)).map((node) => node.id),
    }
  }
  return JSON.stringify({ sessions, others: metas.length, roots: (await storage.getChildren(null as never)).map(({ id }) => id) }, undefined, 1)
}
