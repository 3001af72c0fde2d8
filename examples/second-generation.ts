// An application with one kind of session: functions are bound when a session is made, an engine around it runs the
// tools that the model asks for, and a reflection reads what all sessions remember and answers with insights.
import { createSession, createSessionTool, forkSession, listSessionDigests, tool } from '@stello-ai/session'
import type { CallToolResult, CompressFn, ConsolidateFn, LLMAdapter, MainStorage, SendResult, Session, Tool } from '@stello-ai/session'
import { z } from 'zod'

/** Any tool, when it is looked up by the name that a model gave. */
type AnyTool = Pick<Tool, 'name'> & { execute(input: never): Promise<CallToolResult> }

/** Holds a conversation with tools: sends, runs what the model asks for, sends the results, until it asks for nothing. */
export class Engine {
  readonly #tools: Map<string, AnyTool>

  constructor(
    readonly session: Session,
    tools: AnyTool[],
  ) {
    this.#tools = new Map(tools.map((each) => [each.name, each]))
  }

  async turn(input: string, signal?: AbortSignal): Promise<SendResult & { rounds: number }> {
    let result = await this.session.send(input, { signal })
    let rounds = 1
    while (result.toolCalls !== undefined && result.toolCalls.length > 0) {
      const toolResults = []
      for (const { id, name, input: args } of result.toolCalls) toolResults.push({ toolCallId: id, toolName: name, args, ...(await this.#run(name, args)) })
      result = await this.session.send(JSON.stringify({ toolResults }), { signal })
      rounds++
    }
    return { ...result, rounds }
  }

  async #run(name: string, args: Record<string, unknown>) {
    const called = this.#tools.get(name)
    if (called === undefined) return { success: false, data: null, error: `Unknown tool: ${name}` }
    try {
      const { output } = await called.execute(args as never)
      return { success: true, data: output, error: null }
    } catch (error) {
      return { success: false, data: null, error: error instanceof Error ? error.message : String(error) }
    }
  }
}

const stock: Record<string, number> = { apples: 3, pears: 0 }

export const lookUp = tool(
  'look_up',
  'How many of something there are',
  { what: z.string().describe('Its name'), unit: z.enum(['pieces', 'boxes']).optional() },
  async ({ what, unit }) => {
    const count: number | undefined = stock[what]
    if (count === undefined) throw new Error(`there are no ${what}`)
    return { output: { what, count, unit: unit ?? 'pieces' } }
  },
  { annotations: { readOnlyHint: true } },
)

const compressFn: CompressFn = async (messages) => `Before: ${messages.map(({ content }) => content.slice(0, 20)).join(' / ')}`
const consolidateFn: ConsolidateFn = async (memory, messages) => `${memory === null ? '' : `${memory}, `}${messages.length} messages`

/** Reads all memories and writes every session an insight about the others. */
export async function reflect(storage: MainStorage): Promise<number> {
  const remembering = (await listSessionDigests(storage, { status: 'active' })).filter(({ memory }) => memory !== null)
  for (const { id } of remembering) {
    const others = remembering.filter((digest) => digest.id !== id).map(({ label, memory }) => `${label}: ${memory}`)
    await storage.putInsight(id, `Elsewhere: ${others.join('; ')}`)
  }
  return remembering.length
}

/** A day in the shop; returns what was said and what is left. */
export async function shopDay(storage: MainStorage, llm: LLMAdapter) {
  const tools = [lookUp, createSessionTool(() => counter)]
  const counter: Session = await createSession({ storage, llm, parentId: null, label: 'Counter', systemPrompt: 'You keep a shop.', tools, compressFn, consolidateFn })
  const engine = new Engine(counter, tools)

  const counted = await engine.turn('How many apples?')
  const missing = await engine.turn('How many bananas?')
  const branched = await engine.turn('Open a session about pears')

  const storeroom = await forkSession(counter, { label: 'Storeroom', context: (records) => records.filter(({ role }) => role === 'user').slice(0, 1) })
  await new Engine(storeroom, tools).turn('What was asked first?')

  await counter.consolidate()
  await storeroom.consolidate()
  await reflect(storage)
  const told = await reflect(storage)
  const waiting = await storeroom.insight()
  await storeroom.send('Anything new?')

  return {
    counted,
    missing,
    branched,
    records: await counter.messages(),
    storeroom: await storeroom.messages(),
    told,
    insights: [waiting, await storeroom.insight()],
    memory: await storeroom.memory(),
    children: (await storage.getChildren(counter.meta.id)).map(({ label }) => label),
  }
}
