import { createRequire } from 'node:module'
import { describe, expect, it, vi } from 'vitest'
import * as zod4 from 'zod'
import * as zod3 from 'zod3'
import * as mini from 'zod/mini'
import * as zod3Path from 'zod/v3'
import * as zod4Path from 'zod3/v4'
import type { ForkOptions, Session, SessionMeta } from '@stello-ai/session'
import { createSessionTool, tool, toolSpecs } from '../src/js/tool.cjs'

const execute = async () => ({ output: 'done' })
const z = zod4.z

describe.each([
  ['zod 4', zod4.z],
  ['zod 3', zod3.z as unknown as typeof zod4.z],
  ['zod/v3 of zod 4', zod3Path.z as unknown as typeof zod4.z],
  ['zod/v4 of zod 3', zod4Path.z as unknown as typeof zod4.z],
])('a tool with a shape of %s', (_, zod) => {
  const search = tool(
    'search',
    'Search the knowledge base',
    { query: zod.string().describe('What to look for'), limit: zod.number().int().default(5), tags: zod.array(zod.string()).optional() },
    async ({ query }) => ({ output: [query] }),
    { annotations: { readOnlyHint: true } },
  )

  it('keeps what it was given', async () => {
    expect(search).toMatchObject({ name: 'search', description: 'Search the knowledge base', annotations: { readOnlyHint: true } })
    expect(Object.keys(search)).toEqual(['name', 'description', 'inputSchema', 'execute', 'annotations'])
    expect(await search.execute({ query: 'a', limit: 5 })).toEqual({ output: ['a'] })
  })

  it('has an object schema that parses arguments', () => {
    expect(search.inputSchema.parse({ query: 'a' })).toEqual({ query: 'a', limit: 5 })
    expect(search.inputSchema.safeParse({ query: 1 }).success).toBe(false)
    expect(Object.keys(search.inputSchema.shape)).toEqual(['query', 'limit', 'tags'])
  })

  it('is told to adapters as JSON Schema, with descriptions, of what the model writes', () => {
    const [spec, ...others] = toolSpecs([search]) ?? []
    expect(others).toEqual([])
    expect(Object.keys(spec ?? {})).toEqual(['name', 'description', 'inputSchema'])
    expect(JSON.parse(JSON.stringify(spec))).toMatchObject({
      name: 'search',
      description: 'Search the knowledge base',
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'What to look for' },
          limit: { type: 'integer', default: 5 },
          tags: { type: 'array', items: { type: 'string' } },
        },
        required: ['query'],
      },
    })
    expect(spec?.inputSchema).not.toHaveProperty('$schema')
  })

  it('may have no arguments', () => {
    const now = tool('now', 'Tell the time', {}, execute)
    expect(toolSpecs([now])).toMatchObject([{ name: 'now', inputSchema: { type: 'object', properties: {} } }])
  })

  it('is used with a schema that refers to itself', () => {
    type Tree = { children: Tree[] }
    const tree: zod4.ZodType<Tree> = zod.lazy(() => zod.object({ children: zod.array(tree) }))
    const [spec] = toolSpecs([tool('plant', 'Plant a tree', { tree }, execute)]) ?? []
    expect(JSON.stringify(spec)).toContain('$ref')
  })
})

it('a schema of zod/mini is told as JSON Schema', () => {
  const made = tool('greet', 'Greet', { name: mini.string(), loud: mini.optional(mini.boolean()) }, execute)
  expect(toolSpecs([made])).toMatchObject([
    { inputSchema: { type: 'object', properties: { name: { type: 'string' }, loud: { type: 'boolean' } }, required: ['name'] } },
  ])
})

it('descriptions written through the ES module and read through require are the same', () => {
  const required = createRequire(import.meta.url)('zod') as typeof zod4
  expect(required.z.string).not.toBe(z.string)
  const made = tool('a', 'b', { c: z.object({ d: z.number().describe('inner') }).describe('outer') }, execute)
  expect(JSON.stringify(toolSpecs([made]))).toMatch(/inner.*outer|outer.*inner/)
})

describe('tools as adapters are told of them', () => {
  const plain = { name: 'a', description: 'b', inputSchema: { type: 'object', properties: {} } }

  it('a plain tool is handed on as the same object', () => {
    expect(toolSpecs([plain])?.[0]).toBe(plain)
  })

  it('no tools stay no tools', () => {
    expect(toolSpecs(undefined)).toBeUndefined()
    expect(toolSpecs([])).toEqual([])
  })

  it('a zod object in a plain tool becomes JSON Schema', () => {
    expect(toolSpecs([{ ...plain, inputSchema: z.object({ n: z.number() }) }])).toMatchObject([
      { name: 'a', inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
    ])
  })

  it.each([
    ['options.tools must be an array, got object', {}],
    ['options.tools must be an array, got null', null],
    ['options.tools must be an array, got string', 'search'],
    ['options.tools[0] must be an object { name, description, inputSchema }, got null', [null]],
    ['options.tools[1] must be an object { name, description, inputSchema }, got undefined', [plain, , plain]], // oxlint-disable-line no-sparse-arrays
    ['options.tools[0].name must be a string, got number', [{ ...plain, name: 1 }]],
    ['options.tools[0].description must be a string, got undefined', [{ name: 'a', inputSchema: {} }]],
    ['options.tools[1].inputSchema must be a JSON Schema object or a zod object, got undefined', [plain, { name: 'a', description: 'b' }]],
    ['options.tools[0].inputSchema must be an object schema, got one of string', [{ ...plain, inputSchema: z.string() }]],
  ])('%s', (message, tools) => {
    expect(() => toolSpecs(tools)).toThrow(new TypeError(message))
  })

  it('the path in an error is that of the argument', () => {
    expect(() => toolSpecs([1], 'tools')).toThrow('tools[0] must be an object')
  })
})

describe('a tool is refused', () => {
  const make = tool as (...args: unknown[]) => unknown
  it.each([
    ['name must be a string, got undefined', []],
    ['description must be a string, got number', ['a', 1]],
    ['execute must be a function, got undefined', ['a', 'b', {}]],
    ['inputSchema must be a zod shape, such as { query: z.string() }, got null', ['a', 'b', null, execute]],
    ['inputSchema must be a zod shape, such as { query: z.string() }, got a zod schema: give the shape of z.object(shape), or schema.shape', ['a', 'b', z.object({}), execute]],
    ['inputSchema.query must be a zod schema, got string', ['a', 'b', { query: 'string' }, execute]],
    ['inputSchema.query must be a zod schema, got object', ['a', 'b', { query: { type: 'string' } }, execute]],
    ['inputSchema.b is of zod 3, those before it are of zod 4: use one version', ['a', 'b', { a: z.string(), b: zod3.z.string() }, execute]],
    ['extras must be an object, got string', ['a', 'b', {}, execute, 'x']],
    ['extras.annotations must be an object, got boolean', ['a', 'b', {}, execute, { annotations: true }]],
  ])('%s', (message, args) => {
    expect(() => make(...args)).toThrow(new TypeError(message))
  })
})

describe('the tool that makes sessions', () => {
  const child = { meta: { id: 'child-1', label: 'Research' } as SessionMeta } as Session
  const parent = {} as Session

  it('forks the parent of the moment and tells what was made', async () => {
    const fork = vi.fn(async (_parent: unknown, _options: ForkOptions) => child)
    const getParent = vi.fn(() => parent)
    const made = createSessionTool(getParent, fork)
    expect(getParent).not.toHaveBeenCalled()
    expect(await made.execute({ label: 'Research', prompt: 'Hello' })).toEqual({ output: { sessionId: 'child-1', label: 'Research' } })
    expect(fork).toHaveBeenCalledExactlyOnceWith(parent, { label: 'Research', prompt: 'Hello' })
  })

  it('is described to the model', () => {
    const made = createSessionTool(() => parent, vi.fn())
    expect(made).toMatchObject({ name: 'stello_create_session', annotations: { readOnlyHint: false } })
    expect(toolSpecs([made])).toMatchObject([
      {
        name: 'stello_create_session',
        inputSchema: {
          type: 'object',
          properties: { label: { type: 'string' }, systemPrompt: { type: 'string' }, prompt: { type: 'string' } },
          required: ['label'],
        },
      },
    ])
  })

  it('rejects arguments that do not fit, and forks nothing', async () => {
    const fork = vi.fn()
    const made = createSessionTool(() => parent, fork)
    await expect(made.execute({ label: 7 })).rejects.toThrow('label')
    await expect(made.execute({})).rejects.toThrow('label')
    expect(fork).not.toHaveBeenCalled()
  })

  it('rejects with what the fork failed of', async () => {
    const failure = new Error('no room')
    const made = createSessionTool(() => parent, () => Promise.reject(failure))
    await expect(made.execute({ label: 'x' })).rejects.toBe(failure)
  })

  it('needs a function that tells the parent', () => {
    expect(() => createSessionTool(parent as never, vi.fn())).toThrow(new TypeError('getParent must be a function, got object'))
  })
})
