// docs/drop-in.md names a test for everything that the documents say; here every one of them exists.
import { readFile, readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = new URL('..', import.meta.url)
const read = (path: string) => readFile(fileURLToPath(new URL(path, root)), 'utf8')

/** The titles of a test file, each behind those of the groups around it. */
function titles(source: ts.SourceFile): string[] {
  const found: string[] = []
  const visit = (node: ts.Node, path: string[]) => {
    const title = ts.isCallExpression(node) ? titleOf(node) : undefined
    const inside = title === undefined ? path : [...path, title]
    if (title !== undefined) found.push(inside.join(' › '))
    ts.forEachChild(node, (child) => visit(child, inside))
  }
  visit(source, [])
  return found
}

/** The title where the call is one of `it(…)`, `test.each(…)(…)`, `describe.each(…)(…)` and the like. */
function titleOf({ expression, arguments: [first] }: ts.CallExpression): string | undefined {
  const [name] = expression.getText().split(/[.(<`]/)
  const isTest = name === 'it' || name === 'test' || name === 'describe'
  return isTest && first !== undefined && ts.isStringLiteralLike(first) ? first.text : undefined
}

async function testsOf(file: string): Promise<string[]> {
  if (file.endsWith('.rs')) return [...(await read(file)).matchAll(/^\s*(?:async )?fn (\w+)\(/gm)].map(([, name = '']) => name)
  return titles(ts.createSourceFile(file, await read(`__test__/${file}`), ts.ScriptTarget.Latest, true))
}

const page = await read('docs/drop-in.md')
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (what|---)/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()))
const named = rows.flatMap(([, tests = '']) => tests.split('<br>')).map((test) => /^`([^`]+)` › (.+)$/.exec(test)?.slice(1) ?? [test, ''])

describe('the table of what the documents say', () => {
  it('has a test in every row', () => {
    expect(rows.length).toBeGreaterThan(100)
    expect(rows.filter((cells) => cells.length < 2 || cells.length > 3)).toEqual([])
    expect(named.filter(([, title]) => title === '')).toEqual([])
  })

  it('names tests that exist', async () => {
    const files = [...new Set(named.map(([file = '']) => file))]
    const existing = new Map(await Promise.all(files.map(async (file) => [file, await testsOf(file)] as const)))
    const missing = named.filter(([file = '', title = '']) => existing.get(file)?.some((path) => ` › ${path}`.endsWith(` › ${title}`)) !== true)
    expect(missing).toEqual([])
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
