// Tools of the version of zod that is installed.
import { createSession, createSessionTool, InMemoryStorageAdapter, tool } from '@stello-ai/session'
import type { CallToolResult, Session, Tool, ToolAnnotations } from '@stello-ai/session'
import { z } from 'zod'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <T extends true>(_: T): void => {}

const annotations: ToolAnnotations = { readOnlyHint: true, title: 'Search' }
const shape = {
  query: z.string().describe('What to look for'),
  limit: z.number().default(10),
  kind: z.enum(['page', 'file']).optional(),
  range: z.object({ from: z.date(), to: z.date().nullable() }).optional(),
}
type Expected = z.infer<z.ZodObject<typeof shape>>

export const search = tool(
  'search',
  'Search the knowledge base',
  shape,
  async (input): Promise<CallToolResult> => {
    const length: number = input.query.length + input.limit
    const kind: 'page' | 'file' | undefined = input.kind
    const from: Date | undefined = input.range?.from
    const all: Expected = input
    const back: Parameters<typeof search.execute>[0] = all
    return { output: [length, kind, from, back] }
  },
  { annotations },
)

holds<Equal<Parameters<typeof search.execute>[0], Expected>>(true)

// The schema is zod's own object.
export const schema: z.ZodObject<typeof shape> = search.inputSchema
holds<Equal<z.infer<typeof search.inputSchema>, Expected>>(true)
export const parsed: Expected = search.inputSchema.parse({})
export const partial = search.inputSchema.partial().parse({})
export const query: z.ZodString = search.inputSchema.shape.query

const now = tool('now', 'Tell the time', {}, async () => ({ output: new Date().toISOString() }))

export async function use(session: Session): Promise<void> {
  const make: Tool = createSessionTool(() => session)
  const tools: Tool[] = [search, now, make]
  for (const { name, execute } of tools) console.log(name, (await execute({ query: 'x' })).output)
  await createSession({ storage: new InMemoryStorageAdapter(), tools: [search, now, make] })
  await createSession({ storage: new InMemoryStorageAdapter(), tools })
  session.setTools([search])
}

// @ts-expect-error an argument that is not in the shape
void search.execute({ query: 'x', limit: 1, other: 1 })
// @ts-expect-error an argument of another type
void search.execute({ query: 1, limit: 1 })
// @ts-expect-error an argument that is missing
void search.execute({ limit: 1 })
// @ts-expect-error a shape is made of zod schemas
tool('a', 'b', { query: 'string' }, async () => ({ output: 1 }))
// @ts-expect-error execute is async
tool('a', 'b', {}, () => ({ output: 1 }))
// @ts-expect-error execute resolves to { output }
tool('a', 'b', {}, async () => 'done')
// @ts-expect-error the input has no such property
tool('a', 'b', { query: z.string() }, async (input) => ({ output: input.other }))
