// The examples, run as a reader runs them.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { showWaiting } from '../examples/support/terminal.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Without a key, the examples talk to their own local model. */
const env = { ...process.env, OPENAI_API_KEY: '' }

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stello-examples-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the demo', () => {
  it('holds a conversation and goes on with it in another process', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'examples/demo.mjs')], { env, cwd: folder })
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
