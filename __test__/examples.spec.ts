// The examples, run as a reader runs them.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMainSession, createSession, forkSession, InMemoryStorageAdapter, loadSession, SqliteStorageAdapter, type NativeStorage, type TopologyNode } from '@stello-ai/session'
import { copySessions } from '../examples/move-storage.mjs'
import { showWaiting } from '../examples/support/terminal.mjs'
import { recording } from './support/adapters.js'
import { postgresStorage, postgresUrl } from './support/postgres.js'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Without a key, the examples talk to their own local model. */
const env = { ...process.env, OPENAI_API_KEY: '' }

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stello-examples-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(example: string, ...args: string[]) {
  return promisify(execFile)(process.execPath, [join(root, example), ...args], { env, cwd: folder })
}

it.each(['README.md', 'README.zh-CN.md'])('all of them stand in %s', (path) => {
  const text = readFileSync(join(root, path), 'utf8')
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const names = readdirSync(join(root, 'examples')).filter((name) => name !== 'support')
  const command = (name: string) => Object.keys(scripts).find((script) => scripts[script] === `node examples/${name}`)
  expect(names.filter((name) => !text.includes(`examples/${name}`) && !text.includes(`npm run ${command(name)}`))).toEqual([])
})

describe('the demo', () => {
  it('holds a conversation and goes on with it in another process', async () => {
    const { stdout } = await run('examples/demo.mjs')
    expect(stdout).toContain('assistant  You are Mei, and you are going to Kyoto in April.')
    expect(stdout).toContain('I was told that you like it quiet.')
    expect(stdout).toContain('waiting insight: null')
    expect(stdout).toContain('<session_identity>\n           Food in Kyoto')
    const afterRestart = stdout.slice(stdout.indexOf('The process ends'))
    expect(afterRestart).toMatch(/process \d+ has loaded "Kyoto"/)
    expect(afterRestart).toContain('user       I am back. What was my name again?\nassistant  You are Mei')
  })
})

describe('the chat', () => {
  /** What was shown after each prompt. */
  const answers = (shown: string) => shown.split(/\n\w+> /).slice(1)

  /** Types the lines, each as soon as the chat asks for one, then ends the input. */
  async function type(file: string, ...lines: string[]) {
    const child = spawn(process.execPath, [join(root, 'examples/chat.mjs'), join(folder, file)], { env, cwd: folder })
    let shown = ''
    let typed = 0
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      for (const prompts = answers(shown).length; typed < prompts; typed++) {
        const line = lines[typed]
        if (line === undefined) child.stdin.end()
        else child.stdin.write(`${line}\n`)
      }
    })
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    const code = await new Promise((resolve) => child.once('exit', resolve))
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    return shown
  }

  it('resumes where it stopped', async () => {
    await type('resume.db', 'Hello! I am Mei, and I am going to Kyoto.')
    const again = await type('resume.db', 'What is my name?', '/history', '/quit')
    expect(again).toContain('You were here:\nuser       Hello! I am Mei')
    expect(again).toContain('assistant  You are Mei')
    expect(answers(again)[1]?.match(/^(user|assistant) /gm)).toHaveLength(4)
  })

  it('forks, shows the tree, and opens another of its conversations', async () => {
    const first = await type('tree.db', 'Hello! I am Mei.', '/fork Food', 'What should I eat?', '/tree', '/quit')
    expect(first).toContain('In Kyoto, Mei?')
    expect(first).toMatch(/1 {3}Chat\n {2}2 \* {3}Food\n\nFood> /)
    const second = await type('tree.db', '/open 1', '/history', '/new Other', '/tree', '/open 9')
    const history = answers(second)[1]
    expect(history).toContain('I am Mei')
    expect(history).not.toContain('What should I eat?')
    expect(second).toMatch(/1 {3}Chat\n {2}2 {5}Food\n {2}3 \* Other\n/)
    expect(second).toContain('There is no such number')
  })

  it('shows the model an insight once', async () => {
    const shown = await type('insight.db', '/insight The user likes it quiet.', 'Where first?', '/context', '/insight', 'Where first?', '/context')
    const [, , first, , , second] = answers(shown)
    expect(first).toContain('The user likes it quiet.')
    expect(second).toContain('system ')
    expect(second).not.toContain('The user likes it quiet.')
  })

  it('explains itself', async () => {
    const shown = await type('help.db', '/help', '/what', '/quit')
    expect(shown.match(/\/fork LABEL/g)).toHaveLength(3)
  })
})

describe('the tool loop', () => {
  it('answers all calls, a failed one too, until the model asks for none', async () => {
    const { stdout } = await run('examples/tool-loop.mjs')
    expect(stdout.match(/^tool .*$/gm)).toEqual(['tool       weather({"city":"Kyoto"})', 'tool       weather({"city":"Nara"})', 'tool       train_fare({"to":"Nara"})'])
    expect(stdout).toContain('Kyoto: rain, 12 °C; Nara: sunny, 15 °C; the timetable is not available at the moment')
    expect(stdout).toContain('stored: user, assistant, tool, tool, assistant, tool (failed), assistant\n')
  })
})

describe('the reflection', () => {
  it('tells a conversation what others know, once', async () => {
    const { stdout } = await run('examples/reflection.mjs')
    const [, remembered = '', insights = '', turn = ''] = stdout.split(/\n\n(?=One conversation|What they|The reflection|The next turn)/)
    expect(remembered).toContain('Sights: (nothing)')
    expect(remembered).toMatch(/^Food: .*I like it quiet/m)
    expect(insights).toMatch(/^Sights: From another conversation: Kyoto: /m)
    expect(turn).toContain('I was told that you like it quiet.')
    expect(turn).toMatch(/^system .*\n[^]*Food: The user said: .*I like it quiet/m)
    expect(turn).toContain('waiting insight: null')
  })
})

describe('the custom storage', () => {
  it('passes the conformance suite', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--test', join(root, 'examples/custom-storage/journal-storage.test.mjs')], { env, cwd: folder })
    expect(stdout).toMatch(/^(#|ℹ) pass [5-9]\d$/m)
    expect(stdout).toMatch(/^(#|ℹ) fail 0$/m)
  })
})

describe('the move from one storage to another', () => {
  /** Everything that can be told of a storage, in its order; as text, which tells the order of keys too. */
  async function everything(storage: NativeStorage) {
    const sessions = []
    for (const meta of await storage.listSessions()) {
      const { id } = meta
      const slots = [await storage.getSystemPrompt(id), await storage.getInsight(id), await storage.getMemory(id)]
      sessions.push({ meta, slots, node: await storage.getNode(id), records: await storage.listRecords(id) })
    }
    const under = async (parentId: string | null): Promise<Array<[TopologyNode, unknown]>> => {
      const tree: Array<[TopologyNode, unknown]> = []
      for (const node of await storage.getChildren(parentId)) tree.push([node, await under(node.id)])
      return tree
    }
    return JSON.stringify({ sessions, forest: await under(null) }, null, 1)
  }

  /** Conversations of every kind. */
  async function converse(storage: NativeStorage) {
    const llm = recording()
    const late = await createSession({ storage, llm, label: 'A root only when it is forked' })
    const trip = await createSession({ storage, llm, parentId: null, label: 'Trip', systemPrompt: 'Be brief. 请简短。', tags: ['a', 'b'], metadata: { z: 1, a: [null, '\ud83d', '\0'] } })
    await trip.send('Hello 🎉')
    await trip.setInsight('Likes it quiet.')
    await trip.consolidate(async () => 'Is going to Kyoto.')
    const [first, second] = [await forkSession(trip, { label: 'First', context: 'inherit', prompt: 'Well?' }), await forkSession(trip, { label: 'Second' })]
    await forkSession(late, { label: 'Under the late root' })
    await forkSession(second, { label: 'Deeper' })
    await storage.putNode({ id: first.meta.id, parentId: second.meta.id, label: 'Moved' })
    await storage.putNode({ id: 'group', parentId: null, label: 'A node without a session' })
    await storage.putNode({ id: late.meta.id, parentId: 'nobody', label: 'A node under none' })
    await storage.appendRecord(trip.meta.id, { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'f', input: JSON.parse('{"__proto__":1,"b":[1e400]}') }], extra: { kept: true } } as never)
    await storage.appendRecord(trip.meta.id, { role: 'tool', content: 'no', toolCallId: 'c', isError: true })
    await second.archive()
    const main = await createMainSession({ storage, llm, label: 'Main' })
    await main.integrate(async () => ({ synthesis: 'All about Kyoto.', insights: [] }))
  }

  it('loses nothing, from memory to SQLite to PostgreSQL and back', async () => {
    const storages = [new InMemoryStorageAdapter(), new SqliteStorageAdapter({ path: join(folder, 'moved.db') }), postgresStorage(), new InMemoryStorageAdapter()]
    const [first, ...others] = storages
    await converse(first!)
    const wanted = await everything(first!)
    expect(wanted).toContain('A node under none')
    let from: NativeStorage = first!
    for (const to of others) {
      expect(await copySessions(from, to)).toBe(7)
      expect(await everything(to)).toBe(wanted)
      from = to
    }
    await Promise.all(storages.map((storage) => storage.close()))
  })

  it('goes on where it was interrupted, and leaves what is there alone', async () => {
    const [from, to] = [new InMemoryStorageAdapter(), new InMemoryStorageAdapter()]
    const llm = recording()
    const session = await createSession({ storage: from, llm, id: 'a', parentId: null })
    await session.send('Hello')
    expect(await copySessions(from, to)).toBe(1)
    await (await loadSession('a', { storage: to, llm }))?.send('On the new storage')
    await createSession({ storage: from, id: 'b', parentId: 'a' })
    expect(await copySessions(from, to)).toBe(1)
    expect((await to.listRecords('a')).map(({ content }) => content)).toEqual(expect.arrayContaining(['Hello', 'On the new storage']))
    expect(await to.getChildren('a')).toHaveLength(1)
  })

  it('is a command', async () => {
    const path = join(folder, 'command.db')
    const storage = new SqliteStorageAdapter({ path })
    await createSession({ storage, systemPrompt: 'Be brief.' })
    await storage.close()
    const { stdout } = await run('examples/move-storage.mjs', path, postgresUrl())
    expect(stdout).toBe('1 sessions copied\n')
    await expect(run('examples/move-storage.mjs')).rejects.toMatchObject({ code: 2 })
  })
})

describe('waiting', () => {
  it('is shown on a terminal until there is something else to show', () => {
    const screen: string[] = []
    const stop = showWaiting({ isTTY: true, write: (text) => screen.push(text) })
    expect(screen).toEqual([expect.stringMatching(/^\S 0 s$/)])
    stop()
    stop()
    expect(screen).toHaveLength(2)
    expect(screen[1]).toBe('\b \b'.repeat(5))
  })

  it('writes nothing where there is no terminal', () => {
    const screen: string[] = []
    showWaiting({ write: (text) => screen.push(text) })()
    expect(screen).toEqual([])
  })
})
