// @ts-check
/**
 * The words in which wire cases are written: events, documents and answers of both protocols.
 *
 * @typedef {import('./server.mjs').Answer} Answer
 * @typedef {Record<string, unknown>} Fields
 */

export const J = JSON.stringify

/** The text that most cases carry: characters of one to four bytes, and a flag of two characters. */
export const T = 'Grüße 日本語 🎉🇫🇷 end'
export const PIECES = ['Grüße ', '日本語 ', '🎉🇫🇷 end']

export const MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** An event of data alone. @param {unknown} data @param {string} [nl] */
export const d = (data, nl = '\n') => `data: ${typeof data === 'string' ? data : J(data)}${nl}${nl}`

/** An event with its name. @param {any} data @param {string} [nl] @param {string} [name] */
export const ev = (data, nl = '\n', name = data.type) => `event: ${name}${nl}data: ${J(data)}${nl}${nl}`

/** @param {any[]} events */
export const E = (...events) => events.map((event) => ev(event))

/** @param {string} text */
export const bytes1 = (text) => [...Buffer.from(text)].map((byte) => Buffer.from([byte]))

/** An event stream. @param {Answer['parts']} parts @param {Answer} [more] @returns {Answer} */
export const S = (parts, more = {}) => ({ s: 200, h: { 'content-type': 'text/event-stream' }, enc: 'chunked', end: 'fin', parts, ...more })

/** A document. @param {number} s @param {unknown} body @param {Answer['h']} [h] @param {Answer} [more] @returns {Answer} */
export const R = (s, body, h = {}, more = {}) => ({
  s,
  h: { 'content-type': 'application/json', ...h },
  enc: 'length',
  end: 'fin',
  parts: [typeof body === 'string' ? body : J(body)],
  ...more,
})

/* OpenAI */

/** A chunk. @param {unknown} delta @param {string | null} [finish] @param {Fields} [more] */
export const ck = (delta, finish = null, more = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})

/** {@link T} in three chunks. @param {string} nl */
export const oText = (nl) => [
  d(ck({ role: 'assistant', content: '' }), nl),
  ...PIECES.map((content) => d(ck({ content }), nl)),
  d(ck({}, 'stop'), nl),
  d('[DONE]', nl),
]

/** A completion. @param {Fields} message @param {string} [finish] @param {unknown} [usage] */
export const comp = (message, finish = 'stop', usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  usage,
})

/** A tool call or a fragment of one. @param {number | null} index @param {string} [id] @param {string} [name] @param {string} [args] */
export const tc = (index, id, name, args) => ({
  ...(index === null ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  type: 'function',
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
})

/* Anthropic */

/** @param {unknown} [usage] */
export const ms = (usage = { input_tokens: 9, output_tokens: 1 }) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null, stop_sequence: null, usage },
})
/** @param {number} index @param {Fields} block */
export const bs = (index, block) => ({ type: 'content_block_start', index, content_block: block })
/** @param {number} index @param {string} text */
export const td = (index, text) => ({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })
/** @param {number} index @param {string} json */
export const jd = (index, json) => ({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: json } })
/** @param {number} index */
export const be = (index) => ({ type: 'content_block_stop', index })
/** @param {string | null} [reason] @param {unknown} [usage] */
export const md = (reason = 'end_turn', usage = { output_tokens: 6 }) => ({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage })
export const me = { type: 'message_stop' }
export const ping = { type: 'ping' }

/** {@link T} in three deltas. @param {string} [nl] */
export const aText = (nl = '\n') =>
  [ms(), bs(0, { type: 'text', text: '' }), ping, ...PIECES.map((text) => td(0, text)), be(0), md(), me].map((event) => ev(event, nl))

/** A message. @param {unknown} content @param {Fields} [more] */
export const amsg = (content, more = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 6 },
  ...more,
})

/** @param {string} type @param {string} message */
export const aerr = (type, message) => ({ type: 'error', error: { type, message }, request_id: 'req_1' })
