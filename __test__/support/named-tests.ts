// Pages that name a test for what they say: which tests there are.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = new URL('../..', import.meta.url)

export const read = (path: string) => readFile(fileURLToPath(new URL(path, root)), 'utf8')

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
  if (!isTest || first === undefined) return undefined
  // What stands in a title's gaps is known when it runs.
  if (ts.isTemplateExpression(first)) return first.head.text + first.templateSpans.map(({ literal }) => `…${literal.text}`).join('')
  return ts.isStringLiteralLike(first) ? first.text : undefined
}

/** The tests of a file in `__test__/`, or the functions of one in Rust. */
export async function testsOf(file: string): Promise<string[]> {
  if (file.endsWith('.rs')) return [...(await read(file)).matchAll(/^\s*(?:async )?fn (\w+)\(/gm)].map(([, name = '']) => name)
  return titles(ts.createSourceFile(file, await read(`__test__/${file}`), ts.ScriptTarget.Latest, true))
}

/** The rows of a page's tables, by their cells, without the headings. */
export function rowsOf(page: string): string[][] {
  const lines = page.split('\n')
  return lines
    .filter((line, at) => line.startsWith('| ') && !line.startsWith('| ---') && lines[at + 1]?.startsWith('| ---') !== true)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()))
}

/** The tests that a cell names, as file and title; the title is `''` where it names none. */
export function namedIn(cell = ''): Array<[file: string, title: string]> {
  return cell.split('<br>').map((test) => {
    const [, file = test, title = ''] = /^`([^`]+)` › (.+)$/.exec(test) ?? []
    return [file, title]
  })
}

/** Those of the named tests that do not exist. */
export async function missing(named: Array<[file: string, title: string]>) {
  const files = [...new Set(named.map(([file]) => file))]
  const existing = new Map(await Promise.all(files.map(async (file) => [file, await testsOf(file)] as const)))
  return named.filter(([file, title]) => existing.get(file)?.some((path) => ` › ${path}`.endsWith(` › ${title}`)) !== true)
}
