import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const NAMES = [
  'InMemoryStorageAdapter',
  'LLMError',
  'MainSession',
  'NotImplementedError',
  'PostgresStorageAdapter',
  'Session',
  'SessionArchivedError',
  'SqliteStorageAdapter',
  'StorageError',
  'ToolResultsError',
  'createAnthropicAdapter',
  'createClaude',
  'createGPT',
  'createMainSession',
  'createOpenAICompatibleAdapter',
  'createSession',
  'createSessionTool',
  'forkSession',
  'listSessionDigests',
  'loadMainSession',
  'loadSession',
  'tool',
]

describe('the package', () => {
  const file = fileURLToPath(new URL('programs/exports.mjs', import.meta.url))
  const told = JSON.parse(execFileSync(process.execPath, [file], { encoding: 'utf8' })) as Record<'imported' | 'required' | 'different' | 'misnamed', string[]>

  it('exports the documented names', () => {
    expect(told.required).toEqual(expect.arrayContaining(NAMES))
  })

  it('gives import and require the same objects, and nothing besides', () => {
    expect(told.imported).toEqual(told.required)
    expect(told.different).toEqual([])
  })

  it('has functions and classes whose names are what they are exported as', () => {
    expect(told.misnamed).toEqual([])
  })
})
