// Every code that an error can have is explained on a page of its own. The codes are read from the sources, so that a new
// one without a page fails here.
import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { programs, readPage } from './support/markdown.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match[1] ?? '')
const filesIn = (folder: string, ending: string) =>
  readdirSync(join(root, folder), { encoding: 'utf8', recursive: true })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith(ending))

const inRust = all(read('src/error.rs'), /=> "([a-z_]+)"/g)
const inJs = filesIn('src/js', '.cjs').flatMap((path) => (path.endsWith('native.cjs') ? [] : all(read(path), /\bcode(?: =|:) '([a-z_]+)'/g)))
const codes = [...new Set([...inRust, ...inJs])].toSorted()

/** Pages of codes that cannot be listed. */
const OPEN = ['http_status', 'provider_codes']

describe('the codes of errors', () => {
  it('are found in the sources', () => {
    expect(inRust).toEqual(expect.arrayContaining(['session_archived', 'connection', 'output_truncated', 'invalid_shape', 'failed', 'internal']))
    expect(inJs).toEqual(expect.arrayContaining(['session_archived', 'not_implemented', 'tool_results']))
  })

  it('are named in one place of the crate', () => {
    const elsewhere = filesIn('src', '.rs').filter((path) => !/\/tests?[/.]/.test(path))
    const named = elsewhere.flatMap((path) => all(read(path).split('#[cfg(test)]')[0] ?? '', /\bcode: (?:Some\()?"([a-z_]+)"/g).map((code) => `${path}: ${code}`))
    expect(named).toEqual([])
  })

  it('have a page each', () => {
    const pages = readdirSync(join(root, 'docs/errors')).map((name) => basename(name, '.md'))
    expect(pages.toSorted()).toEqual([...codes, ...OPEN].toSorted())
  })

  it('stand in the list of all errors', () => {
    expect(all(read('docs/errors.md'), /\]\(errors\/(\w+)\.md\)/g).toSorted()).toEqual([...codes, ...OPEN].toSorted())
  })

  it('are declared', () => {
    const declared = all(read('index.d.ts'), /(?:\| |code: )'([a-z_]+)'/g)
    expect(codes.filter((code) => !declared.includes(code))).toEqual(['addon_not_loaded', 'internal']) // of plain Errors
  })
})

/** What depends on the machine, and what nobody knows how to bring about: what can be brought about has another code. */
const WITHOUT_EXAMPLE = new Set(['addon_not_loaded', 'failed', 'internal'])

describe.each([...codes, ...OPEN].filter((code) => !WITHOUT_EXAMPLE.has(code)))('the page of %s', (code) => {
  const page = readPage(read(`docs/errors/${code}.md`))

  it('provokes it', () => {
    const shown = programs(page)
      .map(({ output }) => output ?? '')
      .join('')
    expect(shown).toContain(OPEN.includes(code) ? { http_status: 'http_404', provider_codes: 'context_length_exceeded' }[code] : code)
  })

  it('tells when it happens and what to do', () => {
    expect(page.headings.map(({ anchor }) => anchor)).toEqual(expect.arrayContaining(['when-it-happens', 'an-example', 'what-to-do']))
  })
})
