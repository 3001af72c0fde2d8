// What the documentation tests read of a page: its code, its links, its headings.

export interface Block {
  /** The line of the first line of code, from 1. */
  line: number
  language: string
  /** The words after the language. */
  marks: string[]
  code: string
}

export interface Page {
  blocks: Block[]
  links: string[]
  /** What stands in backticks. */
  spans: string[]
  headings: Array<{ level: number; anchor: string }>
}

export function readPage(text: string): Page {
  const page: Page = { blocks: [], links: [], spans: [], headings: [] }
  let block: Block | undefined
  let fence = ''
  for (const [index, line] of text.split('\n').entries()) {
    if (block !== undefined) {
      if (line.trim() === fence) block = undefined
      else block.code += `${line}\n`
      continue
    }
    const opening = /^(`{3,})(\S*)\s*(.*)$/.exec(line)
    if (opening !== null) {
      const [, ticks = '', language = '', info = ''] = opening
      fence = ticks
      block = { line: index + 2, language, marks: info.split(/\s+/).filter((mark) => mark !== ''), code: '' }
      page.blocks.push(block)
      continue
    }
    const heading = /^(#+)\s+(.*)$/.exec(line)
    if (heading !== null) page.headings.push({ level: heading[1]?.length ?? 0, anchor: anchor(heading[2] ?? '') })
    for (const match of line.matchAll(/`([^`]+)`/g)) page.spans.push(match[1] ?? '')
    const prose = line.replaceAll(/`[^`]*`/g, '')
    for (const match of prose.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)) page.links.push(match[1] ?? match[2] ?? '')
  }
  return page
}

/** As GitHub makes it. */
function anchor(heading: string) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** Code that makes one module: a block, and the blocks after it that go on where it stopped. */
export interface Program {
  line: number
  /** The code at the lines of the page. */
  text: string
  /** The part to run, likewise. */
  runnable: string
  /** What it prints, where the page shows it. */
  output: string | undefined
}

/**
 * The programs of a page. A `ts` block that imports something begins one, another goes on with the last one. Marked
 * `compile`, it is not run. A `text output` block is what the program prints.
 */
export function programs(page: Page): Program[] {
  const found: Program[] = []
  for (const { language, marks, line, code } of page.blocks) {
    const last = found.at(-1)
    if (language === 'text' && marks.includes('output') && last !== undefined) last.output = (last.output ?? '') + code
    if (language !== 'ts') continue
    const runs = !marks.includes('compile')
    if (last === undefined || /^import\b/m.test(code)) {
      found.push({ line, text: at(line, '', code), runnable: runs ? at(line, '', code) : '', output: undefined })
    } else {
      last.text = at(line, last.text, code)
      if (runs) last.runnable = at(line, last.runnable, code)
    }
  }
  return found
}

function at(line: number, before: string, code: string) {
  return before + '\n'.repeat(line - before.split('\n').length) + code
}
