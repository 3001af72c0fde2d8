// docs/reliability.md names a test for every promise and a command for every figure; here all of them exist.
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readPage } from '../support/markdown.js'
import { missing, namedIn, read, rowsOf } from '../support/named-tests.js'

const page = await read('docs/reliability.md')
const root = fileURLToPath(new URL('../..', import.meta.url))
const promises = rowsOf(page).filter(([, tests = '']) => tests.includes('›'))
const named = promises.flatMap(([, tests]) => namedIn(tests))

describe('the page of promises', () => {
  it('names tests that exist, and a test for every promise', async () => {
    expect(promises.length).toBeGreaterThan(20)
    expect(named.filter(([, title]) => title === '')).toEqual([])
    expect(await missing(named)).toEqual([])
  })

  it('names commands that exist, with variables that they read', async () => {
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> }
    const commands = readPage(page).blocks.filter(({ language }) => language === 'sh').flatMap(({ code }) => code.trim().split('\n'))
    expect(commands.length).toBeGreaterThan(4)
    for (const command of commands) {
      const files = command.match(/\b[\w./-]+\/[\w.-]+\.(?:spec\.ts|mjs|rs|sh|toml)\b/g) ?? []
      for (const file of files) expect(existsSync(`${root}${file}`), `${command}: ${file}`).toBe(true)
      const [, script] = /\bnpm run ([\w:-]+)/.exec(command) ?? []
      if (script !== undefined) expect(scripts[script], command).toBeDefined()
      const texts = (await Promise.all(files.map((file) => read(file)))).join('')
      for (const [, name = ''] of command.matchAll(/\b(STELLO_\w+)=/g)) expect(texts, command).toContain(`process.env.${name}`)
    }
  })

  it('names properties of the core that are there, and all of them', async () => {
    const files = [...page.matchAll(/`(src\/[\w/]+\.rs)`/g)].map(([, file = '']) => file)
    const there = (await readdir(`${root}src`, { recursive: true })).filter((file) => file.endsWith('properties.rs'))
    expect(files.toSorted()).toEqual(there.map((file) => `src/${file}`).toSorted())
  })

  it('leaves no test of this folder unnamed', async () => {
    const files = (await readdir(fileURLToPath(new URL('.', import.meta.url)))).filter((file) => file.endsWith('.spec.ts') && file !== 'promises.spec.ts')
    const used = new Set(named.map(([file]) => file))
    expect(files.filter((file) => !used.has(`reliability/${file}`))).toEqual([])
  })
})
