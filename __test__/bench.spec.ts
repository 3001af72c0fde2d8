// The measurements run and tell their figures. What the figures are is not for a test to say.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { HISTORIES, groups, rows } from '../bench/cases.mjs'
import { chart } from '../bench/chart.mjs'
import { judge, page } from '../bench/report.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

async function measure(script: string, ...options: string[]): Promise<Record<string, number>> {
  const { stdout } = await promisify(execFile)(process.execPath, [join('bench', script), 'src/js/index.mjs', ...options], { cwd: root })
  return JSON.parse(stdout)
}

describe('turns against a provider on this machine', () => {
  it.each([
    ['sent', []],
    ['streamed from OpenAI', ['--stream', '--chunks', '3']],
    ['streamed from Anthropic', ['--stream', '--protocol', 'anthropic', '--delay']],
    ['with a storage in JavaScript', ['--storage', 'javascript']],
  ])('are measured when %s', async (_, options) => {
    const figures = await measure('turns.mjs', '--history', '3', '--turns', '8', '--sessions', '2', '--warmup', '4', ...options)
    expect(figures).toMatchObject({ turns: 8, turnsPerS: expect.any(Number), processMs: expect.any(Number), latencyMs: expect.any(Number) })
    if (process.platform === 'linux') expect(figures.mainMs).toBeTypeOf('number')
    if (options.includes('--delay')) expect(figures.delayP99Ms).toBeTypeOf('number')
  })
})

describe('what a send takes around an adapter in JavaScript', () => {
  it.each(['native', 'javascript'])('is measured with a %s storage', async (storage) => {
    const figures = await measure('overhead.mjs', '--history', '5', '--turns', '4', '--warmup', '1', '--storage', storage)
    // System prompt, identity and the new message stand around the history.
    expect(figures).toMatchObject({ turns: 4, messages: 8, latencyUs: expect.any(Number), processUs: expect.any(Number) })
  })
})

it('memory is measured', async () => {
  const figures = await measure('memory.mjs', '--sessions', '2', '--messages', '3', '--chinese')
  expect(figures).toMatchObject({ messages: 6, megabytes: expect.any(Number) })
})

describe('the report', () => {
  const measured = groups({ scale: 1, repetitions: 1 })

  it('has a figure for every bar', () => {
    for (const { of, against } of rows) {
      for (const [group, variant] of against === undefined ? [of] : [of, against]) {
        const variants = group === 'addon' ? ['native'] : Object.keys(measured.find(({ name }) => name === group)?.variants ?? {})
        expect(variants, group).toContain(variant)
      }
    }
  })

  it('tells which bars are met', () => {
    const rowsMet = (figure: number) => rows.flatMap((row) => judge(row, ([, variant]) => (variant === 'yardstick' || variant === 'bare' ? 100 : figure)) ?? []).filter(({ met }) => met)
    const met = rowsMet(1).map(({ row, reached, bar }) => [row.measure, row.history, reached, bar])
    expect(met).toContainEqual(['main-thread CPU', 10, '0.01', '≤ 0.1'])
    expect(met).toContainEqual(['latency', 10, '−99 µs', '≤ +70 µs'])
    expect(rowsMet(1000).every(({ bar }) => bar.startsWith('≥') || bar === '≤ 10')).toBe(true)
  })

  it('leaves out what was not measured', () => {
    expect(rows.flatMap((row) => judge(row, () => undefined) ?? [])).toEqual([])
  })

  it('is a page with a table, and a picture', () => {
    const judged = rows.flatMap((row) => judge(row, () => 2) ?? [])
    expect(page(judged).split('\n').filter((line) => line.startsWith('| '))).toHaveLength(rows.length + 2)
    expect(chart(() => 2).match(/class="package" /g)).toHaveLength(4 * HISTORIES.length + 1)
  })
})
