// docs/drop-in.md names a test for everything that the documents say; here every one of them exists.
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { missing, namedIn, read, rowsOf } from './support/named-tests.js'

const root = new URL('..', import.meta.url)
const rows = rowsOf(await read('docs/drop-in.md'))
const named = rows.flatMap(([, tests]) => namedIn(tests))

describe('the table of what the documents say', () => {
  it('has a test in every row', () => {
    expect(rows.length).toBeGreaterThan(100)
    expect(rows.filter((cells) => cells.length < 2 || cells.length > 3)).toEqual([])
    expect(named.filter(([, title]) => title === '')).toEqual([])
  })

  it('names tests that exist', async () => {
    expect(await missing(named)).toEqual([])
  })

  it('has a row for every method of the storages, sessions and adapters, and every option', async () => {
    const source = ts.createSourceFile('index.d.ts', await read('index.d.ts'), ts.ScriptTarget.Latest, true)
    const documented = new Set(['SessionStorage', 'MainStorage', 'Session', 'MainSession', 'LLMAdapter', 'ForkOptions', 'CreateSessionOptions', 'LoadSessionOptions', 'ConsolidateFn', 'IntegrateFn', 'SendResult', 'StreamResult', 'Message', 'ToolCall'])
    const members = source.statements
      .filter(ts.isInterfaceDeclaration)
      .filter(({ name }) => documented.has(name.text))
      .flatMap(({ members: all }) => all.map((member) => member.name?.getText() ?? ''))
    const said = rows.map(([what = '']) => what).join('\n')
    // Additions to the documents have their tests, and no row.
    const additions = new Set(['tools', 'setTools', 'id', 'parentId', 'compressFn', 'consolidateFn', 'finishReason', 'reasoningContent', 'isError', 'getNode', 'getCompressionCache', 'putCompressionCache'])
    expect([...new Set(members)].filter((name) => !additions.has(name) && !new RegExp(`\\b${name}\\b`).test(said))).toEqual([])
  })

  it('leaves no test file of sessions unnamed', async () => {
    const files = (await readdir(fileURLToPath(new URL('__test__', root)))).filter((file) => /^(session|main-session|fork|topology|turn|stream|context|compress-fn|values|errors|matrix|applications)\.spec\.ts$/.test(file))
    const used = new Set(named.map(([file]) => file))
    expect(files.filter((file) => !used.has(file))).toEqual([])
  })
})
