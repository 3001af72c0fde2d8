import type { Usage } from '@stello-ai/session'
import { expect } from 'vitest'
import { PIECES } from './frames.mjs'
import type { Fragments } from './outcome.js'

/** What a case comes to. A stream has pieces, a whole answer has content. */
export interface Expected {
  pieces?: string[]
  content?: string | null
  /** The calls, their arguments read. */
  calls?: Array<[name: string, input: unknown]>
  /** The calls as an adapter's own stream gives them, where arguments are not JSON. */
  fragments?: Fragments[]
  usage?: Usage
  finish?: string
  reasoning?: string
  /** Properties of the `LLMError`; `'aborted'`: the signal's reason. */
  error?: Record<string, unknown> | 'aborted'
  /** Of a turn that fails though the adapter's own call does not. */
  turnError?: Record<string, unknown>
  /** How many requests reach the server. @default 1 */
  attempts?: number
  /** The waits between attempts take at least so many ms together. */
  waits?: number
}

export function usage(promptTokens: number, completionTokens: number, cachedPromptTokens?: number): Usage {
  return { promptTokens, completionTokens, ...(cachedPromptTokens !== undefined && { cachedPromptTokens }) }
}

const oText: Expected = { pieces: PIECES, finish: 'stop' }
const aText: Expected = { ...oText, usage: usage(9, 6) }
const oWhole: Expected = { finish: 'stop', usage: usage(5, 3) }
const aWhole: Expected = { finish: 'stop', usage: usage(9, 6) }
export const invalid = { code: 'invalid_response', status: undefined, retryable: false }
export const incomplete = { code: 'incomplete_stream', status: undefined }
export const broken = { code: 'connection', status: undefined, retryable: true, cause: expect.any(String) }

export const expected: Record<string, Expected> = {
  O01: oText,
  O02: oText,
  O03: oText,
  O04: oText,
  O05: { pieces: ['a', 'b'], finish: 'stop' },
  O07: oText,
  O08: { pieces: ['a', 'Z'], finish: 'stop' },
  O09: { pieces: ['part'], error: incomplete },
  O10: { pieces: ['part'], error: broken },
  O11: { pieces: ['part'], error: broken },
  O12: { pieces: ['a'], finish: 'stop' },
  O13: oText,
  O14: { pieces: ['part'], error: { message: 'backend died', type: 'server_error', code: 'x1', status: undefined } },
  O16: { pieces: ['part'], error: invalid },
  O17: { pieces: ['a'], finish: 'stop', usage: usage(5, 1, 4) },
  O18: { pieces: ['a'], finish: 'stop', usage: usage(5, 1) },
  O20: { pieces: [], calls: [['f', { a: 1 }], ['g', { b: 2 }]], finish: 'tool_calls' },
  O22: { pieces: [], calls: [['f', { a: 1 }]], finish: 'tool_calls' },
  O23: { pieces: ['Answer'], reasoning: 'hmm ok', finish: 'stop' },
  O24: {
    pieces: [],
    fragments: [{ name: 'f', id: 'call_a', input: '{"a":"tru' }],
    finish: 'length',
    turnError: { code: 'output_truncated', provider: 'openai', message: expect.stringMatching(/"f".*maxOutputTokens/) },
  },
  O25: { pieces: ['whole'], ...oWhole },
  O26: { pieces: [], error: { ...invalid, message: expect.stringContaining('<html>login</html>') } },
  O27: oText,
  O29: { pieces: ['a'], error: 'aborted' },
  O30: { pieces: [], error: 'aborted' },
  O31: { pieces: ['a'], error: { code: 'timeout', status: undefined, retryable: true } },
  O32: { content: null, calls: [['f', { x: 1 }], ['g', {}]], finish: 'tool_calls', usage: usage(5, 3) },
  O34: { content: null },
  O35: { content: 'hi', ...oWhole },
  O36: { error: invalid },
  O38: { error: { status: 400, code: 'bad_code', type: 'invalid_request_error', requestId: 'req_9', message: '400 bad thing', retryable: false } },
  O39: { error: { status: 404, code: 'http_404', message: '404 {"detail":"Not Found"}', retryable: false } },
  O40: { error: { status: 401, code: 'http_401', message: '401 invalid key', retryable: false } },
  O41: { content: 'ok', ...oWhole, attempts: 3, waits: 375 + 750 },
  O42: { error: { status: 502, code: 'http_502', message: '502 <html>Bad Gateway</html>', retryable: true, retryAfterMs: 20 }, attempts: 3 },
  O43: { content: 'ok', ...oWhole, attempts: 2, waits: 1_000 },
  O44: { content: 'ok', ...oWhole, attempts: 2, waits: 30 },
  O45: { error: { status: 500, message: '500 no', retryable: false } },
  O47: { content: 'ok', ...oWhole, attempts: 2 },
  O48: { error: { code: 'timeout', status: undefined, retryable: true } },
  O50: { error: broken, attempts: 0, waits: 375 + 750 },
  O52: { error: 'aborted', attempts: 0 },
  O53: { error: invalid },
  O55: { error: 'aborted' },
  O58: { pieces: [], calls: [['f', { a: 1 }]], finish: 'tool_calls' },
  O59: { pieces: [], error: invalid },
  O62: { ...oText, attempts: 3 },
  O63: { error: { status: 403, code: 'http_403', message: '403 status code (no body)', retryable: false } },
  A01: aText,
  A02: aText,
  A03: { pieces: ['Answer'], reasoning: 'hmm', finish: 'stop', usage: usage(9, 6) },
  A04: { pieces: ['Checking'], calls: [['f', { q: 'é 日本"', n: [1, 2] }]], finish: 'tool_calls', usage: usage(9, 6) },
  A06: { pieces: [], calls: [['ping', {}]], finish: 'tool_calls', usage: usage(9, 6) },
  A07: { pieces: ['part'], error: { message: 'Overloaded', type: 'overloaded_error', requestId: 'req_1', status: undefined, retryable: true } },
  A10: { pieces: ['ok'], finish: 'stop', usage: usage(9, 6) },
  A12: { pieces: ['part'], error: incomplete },
  A14: { pieces: ['part'], error: broken },
  A15: { pieces: ['ok'], finish: 'stop', usage: usage(2104, 12, 2000) },
  A16: {
    pieces: [],
    fragments: [{ name: 'f', id: 't0', input: '{"a": tru nope' }],
    finish: 'length',
    usage: usage(9, 6),
    turnError: { code: 'output_truncated', provider: 'anthropic', message: expect.stringMatching(/"f".*maxOutputTokens/) },
  },
  A18: { pieces: ['whole'], ...aWhole },
  A19: { pieces: [], finish: 'content_filter', usage: usage(9, 1) },
  A21: { pieces: ['a'], error: 'aborted' },
  A22: {
    pieces: [],
    error: { status: 529, type: 'overloaded_error', message: '529 Overloaded', requestId: 'req_7', retryable: true, retryAfterMs: 20 },
    attempts: 3,
  },
  A23: { content: 'AB', reasoning: 'h', calls: [['f', { a: 1 }]], finish: 'tool_calls', usage: usage(110, 6, 100) },
  A24: { content: null, ...aWhole },
  A25: { error: { status: 400, type: 'invalid_request_error', message: '400 max_tokens: too large', requestId: 'req_5', retryable: false } },
  A26: { error: { status: 413, type: 'request_too_large', message: '413 too big', requestId: 'req_1', retryable: false } },
  A28: { content: 'ok', ...aWhole, attempts: 2 },
  A29: { content: 'ok', ...aWhole },
  A31: { content: 'ok', ...aWhole },
  A32: { error: { message: 'soft fail', type: 'api_error', status: undefined } },
  A34: aText,
  A37: { pieces: [], error: invalid },
  A39: aText,
  A40: aText,
}
