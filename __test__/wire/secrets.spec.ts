import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { createAnthropicAdapter, createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter, type LLMAdapter } from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { aerr, bs, ck, comp, d, E, ev, J, jd, md, me, ms, R, S, tc, td } from './frames.mjs'
import { completed, streamed, turned, type Protocol } from './outcome.js'
import { withServer, type Answer } from './server.mjs'

/** A key with characters that JSON, URLs and base64 write in other ways. */
const KEY = 'sk-plant/3d+"q=Zx0987654321~tail'
const OTHER = 'other-header-secret-55'
const QUERY = 'query-secret-77'
const PASSWORD = 'pass-word-of-proxy-99'
const BASIC = Buffer.from(`user:${PASSWORD}`).toString('base64')

/** The pieces of a secret that no text may hold: each would help who finds it. */
const fragments = (secret: string) => Array.from({ length: secret.length - 9 }, (_, at) => secret.slice(at, at + 10))
const SECRETS = [KEY, OTHER, QUERY, PASSWORD, BASIC].flatMap((secret) => [
  ...fragments(secret),
  ...fragments(encodeURIComponent(secret)),
  ...fragments(J(secret).slice(1, -1)),
])

/** Everything that can be read of a value, properties that are hidden and causes included. */
function everything(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value !== 'object' || value === null) return String(value)
  if (seen.has(value)) return ''
  seen.add(value)
  const own = Reflect.ownKeys(value).map((key) => `${String(key)}: ${everything(Reflect.get(value, key), seen)}`)
  return [inspect(value, { depth: null, showHidden: true, getters: true }), inspect(value), String(value), J(value), ...own].join('\n')
}

function searched(...values: unknown[]) {
  const text = values.map((value) => everything(value)).join('\n')
  return { text, found: SECRETS.filter((secret) => text.includes(secret)) }
}

const percent = encodeURIComponent
const escaped = J(KEY).slice(1, -1)
/** What a server says that has seen the request. */
const ECHO = `your key ${KEY} (${percent(KEY)}, ${escaped}, ${KEY.replaceAll('/', '\\/')}), ${OTHER}, ${QUERY}, Basic ${BASIC}, user:${PASSWORD}`
const inError = { error: { message: ECHO, type: ECHO, code: ECHO, param: ECHO } }
const wall = (length: number) => 'x'.repeat(length)

/** Where a server may say it. */
const places: Array<{ place: string; answer: Answer; key?: string }> = [
  { place: 'the message, type and code of an error', answer: R(401, inError) },
  { place: 'an error as text', answer: R(401, { error: ECHO }) },
  { place: 'JSON without an error', answer: R(400, { detail: [{ loc: ['header'], input: ECHO }] }) },
  { place: 'JSON with escaped slashes', answer: R(400, J({ detail: ECHO }).replaceAll('/', '\\/')) },
  { place: 'JSON in which every character is escaped', answer: R(400, `{"detail":"${[...KEY].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"}`) },
  { place: 'a page', answer: R(403, `<html><pre>Authorization: Bearer ${KEY}</pre></html>`, { 'content-type': 'text/html' }) },
  { place: 'the place where a long text is cut', answer: R(500, `${wall(990)}${KEY}`, { 'x-should-retry': 'false' }) },
  { place: 'the place where a long answer is cut', answer: R(200, `<${wall(988)}${KEY}`, { 'content-type': 'text/html' }) },
  { place: 'the place where a long event is cut', answer: S([ev({ note: `${wall(970)}${KEY}${KEY}` }, '\n', 'error')]) },
  { place: 'the headers', answer: R(400, '', { 'x-request-id': `r-${KEY}`, 'request-id': OTHER, 'x-echo': ECHO, 'www-authenticate': `Bearer ${KEY}`, 'retry-after': KEY }) },
  { place: 'the content type of a page', answer: R(200, 'page', { 'content-type': `text/${KEY}` }) },
  { place: 'a redirect to another origin', answer: R(307, '', { location: `https://elsewhere.invalid/${percent(KEY)}/${KEY}?key=${KEY}` }) },
  { place: 'a redirect with credentials', answer: R(308, '', { location: `https://user:${percent(KEY)}@elsewhere.invalid/` }) },
  { place: 'a redirect that is not followed', answer: R(302, ECHO, { location: `/${percent(KEY)}` }) },
  { place: 'a redirect to no URL', answer: R(307, '', { location: `http://${KEY}:bad:port/` }) },
  { place: 'a gzipped body', answer: { s: 401, h: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, enc: 'length', parts: [gzipSync(J(inError))] } },
  { place: 'an error in a stream', answer: S([d(inError)]) },
  { place: 'an event: error', answer: S([ev(inError, '\n', 'error')]) },
  { place: 'an event: error of plain text', answer: S([`event: error\ndata: ${ECHO}\n\n`]) },
  { place: 'an event that is not JSON', answer: S([`data: ${ECHO}\n\n`]) },
  { place: 'an error of the other protocol', answer: S(E({ ...aerr(ECHO, ECHO), request_id: ECHO })) },
  { place: 'a page with 200', answer: R(200, `<html>${ECHO}</html>`, { 'content-type': 'text/html' }) },
  { place: 'a document that is none', answer: R(200, J([ECHO])) },
  { place: 'a document with an unknown field', answer: R(200, { status: ECHO }) },
  { place: 'a status line', answer: { raw: true, parts: [`HTTP/1.1 400 ${KEY}\r\ncontent-length: 0\r\n\r\n`] } },
  { place: 'a response that is not HTTP', answer: { raw: true, parts: [`${KEY}\r\n\r\n`] } },
  { place: 'a header that is not one', answer: { raw: true, parts: [`HTTP/1.1 200 OK\r\n${KEY}\r\n\r\n`] } },
  { place: 'the name of a tool, whole', answer: R(200, comp({ content: null, tool_calls: [tc(null, 'a', KEY, '{"a":')] }, 'length')) },
  { place: 'the name of a tool in a stream', answer: S([d(ck({ tool_calls: [tc(0, 'a', KEY, '{"a":')] }, 'length')), d('[DONE]')]) },
  { place: 'the name of a tool in a stream of Messages', answer: S(E(ms(), bs(0, { type: 'tool_use', id: 't', name: KEY, input: {} }), jd(0, '{"a":'), md('max_tokens'), me)) },
  { place: 'what comes before the end of a cut stream', answer: S([...E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'a')), d(ck({ content: 'a' })), `: ${KEY}\n`, 20], { end: 'rst' }) },
]

const adapters: Array<{ protocol: Protocol; make: (url: string) => LLMAdapter }> = (['o', 'a'] as const).map((protocol) => ({
  protocol,
  make: (url) => {
    const options = {
      model: 'm',
      apiKey: KEY,
      maxContextTokens: 10_000,
      maxRetries: 0,
      baseURL: `${url}/?api_key=${QUERY}`,
      headers: { 'x-backend-token': OTHER, 'proxy-authorization': `Basic ${BASIC}` },
    }
    return protocol === 'o' ? createOpenAICompatibleAdapter(options) : createAnthropicAdapter(options)
  },
}))

describe.concurrent.each(adapters)('a key over protocol $protocol', ({ make }) => {
  it.for(places)('is in no error when a server echoes it in $place', async ({ answer }) => {
    await withServer([answer], async ({ url }) => {
      const llm = make(url)
      const outcomes = [
        (await completed(llm)).error,
        (await streamed(llm)).error,
        (await turned(new InMemoryStorageAdapter(), llm, 'complete')).outcome.error,
        (await turned(new InMemoryStorageAdapter(), llm, 'stream')).outcome.error,
      ]
      const { found, text } = searched(...outcomes, llm)
      expect({ found, text: found.length > 0 && text }).toEqual({ found: [], text: false })
      expect(outcomes.some((error) => error instanceof Error)).toBe(true)
    })
  })
})

describe('a key', () => {
  const options = { model: 'm', maxContextTokens: 1_000, apiKey: KEY }
  it.each([
    { where: 'an invalid base URL', options: { ...options, baseURL: `nowhere ${KEY}` } },
    { where: 'the host of an invalid base URL', options: { ...options, baseURL: `http://host:${percent(KEY)}/` } },
    { where: 'the credentials of a base URL', options: { ...options, baseURL: `https://user:${PASSWORD}@host.invalid/?key=${QUERY}` } },
    { where: 'the query of a base URL with a wrong scheme', options: { ...options, baseURL: `ftp://host/?api_key=${QUERY}&x=${KEY}` } },
    { where: 'a header that cannot be sent', options: { ...options, baseURL: 'http://h', headers: { authorization: `Bearer ${OTHER}\n` + OTHER } } },
    { where: 'the name of a header', options: { ...options, baseURL: 'http://h', headers: { [`x ${KEY}`]: 'v' } } },
    { where: 'a key that cannot be sent', options: { ...options, apiKey: `${KEY}\n${KEY}`, baseURL: 'http://h' } },
    { where: 'an option of a wrong type', options: { ...options, apiKey: [KEY], baseURL: 'http://h' } },
    { where: 'headers of a wrong type', options: { ...options, baseURL: 'http://h', headers: { 'x-key': [OTHER] } } },
    { where: 'headers that are a text', options: { ...options, baseURL: 'http://h', headers: `x-key: ${OTHER}` } },
  ])('is not in the error over $where', ({ options: wrong }) => {
    let error: unknown
    try {
      createOpenAICompatibleAdapter(wrong as never)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(TypeError)
    expect(searched(error).found).toEqual([])
  })

  it('is in nothing that an adapter or its session shows', async () => {
    for (const { make } of adapters) {
      const llm = make('http://127.0.0.1:9')
      const session = await createSession({ storage: new InMemoryStorageAdapter(), llm })
      expect(searched(llm, session, llm.complete, llm.stream, Object.getOwnPropertyDescriptors(llm)).found).toEqual([])
    }
  })

  it('is in no output of a process that debugs everything', () => {
    const program = `
      const { createOpenAICompatibleAdapter } = require('@stello-ai/session')
      const { inspect } = require('node:util')
      process.on('unhandledRejection', (error) => { console.error(error); process.exitCode = 0 })
      const llm = createOpenAICompatibleAdapter({ model: 'm', maxContextTokens: 1000, baseURL: 'http://127.0.0.1:9/v1?api_key=' + process.env.PLANTED, apiKey: process.env.PLANTED, maxRetries: 0, headers: { 'x-token': process.env.PLANTED } })
      console.log(inspect(llm, { showHidden: true, depth: null }))
      llm.complete([{ role: 'user', content: 'q' }]).catch((error) => { console.log(error); console.error(inspect(error, { showHidden: true, depth: null })); console.trace(error) })
      llm.complete([{ role: 'user', content: 'q' }])`
    const { PLANTED: _, ...env } = process.env
    const output = execFileSync(process.execPath, ['-e', `process.env.PLANTED = ${J(KEY)};${program}`], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      env: { ...env, NODE_DEBUG: '*', DEBUG: '*', RUST_LOG: 'trace', RUST_BACKTRACE: '1', REQWEST_LOG: 'trace' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 64 * 1024 * 1024,
    })
    expect(output).toContain('LLMError')
    // Node.js itself prints the program that it is given.
    expect(fragments(KEY).filter((secret) => output.includes(secret))).toEqual([])
  })
})
