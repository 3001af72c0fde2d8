// @ts-check
/** Cases of the same kinds as those of `cases.mjs`, where servers and what stands before them go wrong in other ways. */
import zlib from 'node:zlib'
import { E, J, MARK, R, S, aText, aerr, amsg, be, bs, bytes1, ck, comp, d, ev, jd, md, me, ms, oText, ping, tc, td } from './frames.mjs'

/** Compressed, byte by byte. @param {string} text */
const gzipped = (text) => [...zlib.gzipSync(text)].map((byte) => Buffer.from([byte]))
const gzipHeaders = { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }

const part = d(ck({ role: 'assistant', content: 'part' }))
const a = d(ck({ role: 'assistant', content: 'a' }))
const stop = d(ck({}, 'stop'))
const done = d('[DONE]')
const counted = (/** @type {unknown} */ usage) => d({ id: 'c', choices: [], usage })
const aPart = E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'part'))
const aOk = (/** @type {any[]} */ ...end) => E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'ok'), be(0), ...end)
const call = (/** @type {unknown} */ args, name = 'f') => ({ id: 'a', type: 'function', function: { name, arguments: args } })

/** @type {import('./cases.mjs').WireCase[]} */
export const more = [
  // ---- framing
  { id: 'O100', p: 'o', op: 'stream', n: 'two byte order marks', r: [S([MARK, MARK, ...oText('\n')])] },
  { id: 'O101', p: 'o', op: 'stream', n: 'gzip, CRLF, one compressed byte per chunk', r: [S(gzipped(oText('\r\n').join('')), { h: gzipHeaders })] },
  { id: 'O102', p: 'o', op: 'stream', n: 'line ends of all kinds in one stream', r: [S([oText('\n').slice(0, 2).join(''), ...bytes1(oText('\r\n').slice(2, 4).join('')), oText('\r').slice(4).join('')])] },
  { id: 'O103', p: 'o', op: 'stream', n: 'one document over several data: lines', r: [S(['data: {"choices":[{"index":0,\ndata: "delta":{"content":"a"},\r\ndata:"finish_reason":"stop"}]}\n\n', done])] },
  { id: 'O104', p: 'o', op: 'stream', n: 'no content type', r: [S(oText('\n'), { h: {} })] },
  { id: 'O105', p: 'o', op: 'stream', n: 'event stream under application/json', r: [S(oText('\n'), { h: { 'content-type': 'application/json' } })] },
  { id: 'O106', p: 'o', op: 'stream', n: 'no length: the connection closes', r: [S(oText('\n'), { enc: 'close' })] },
  { id: 'O107', p: 'o', op: 'stream', n: 'interim responses before the real one', r: [S(oText('\n'), { before: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n' })] },
  { id: 'O108', p: 'o', op: 'stream', n: 'a header of 60 kB', r: [S(oText('\n'), { h: { 'content-type': 'text/event-stream', 'x-trace': 'y'.repeat(60_000) } })] },
  { id: 'O109', p: 'o', op: 'stream', n: '90 headers', r: [S(oText('\n'), { h: { 'content-type': 'text/event-stream', 'set-cookie': Array.from({ length: 90 }, (_, n) => `c${n}=1`) } })] },
  { id: 'O110', p: 'o', op: 'stream', n: 'bytes that are not UTF-8 in a text', r: [S(['data: {"choices":[{"delta":{"content":"a', Buffer.from([0xff]), 'b"}}]}\n\n', stop, done])] },
  { id: 'O111', p: 'o', op: 'stream', n: 'white space and comments for a while, then the stream', r: [S(['\n', ': thinking\n\n', 30, ':\r\n\r\n', '\r\n', a, stop, done])] },
  { id: 'O112', p: 'o', op: 'stream', n: 'comments only, then a clean end', r: [S([': thinking\n\n', ': still\n\n'])] },
  { id: 'O113', p: 'o', op: 'stream', n: 'corrupt gzip', r: [S([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff])], { h: gzipHeaders })] },
  { id: 'O114', p: 'o', op: 'stream', n: 'gzip cut in the middle by a reset', r: [S([...gzipped(oText('\n').join('')).slice(0, 40), 30], { h: gzipHeaders, end: 'rst' })] },
  { id: 'O115', p: 'o', op: 'complete', n: 'gzip announced, plain text sent', r: [R(200, comp({ content: 'ok' }), { 'content-encoding': 'gzip' })] },
  // ---- ends
  { id: 'O120', p: 'o', op: 'stream', n: 'finish reason, then data that is not JSON', r: [S([a, stop, d('not json'), done])] },
  { id: 'O121', p: 'o', op: 'stream', n: 'finish reason, then a reset', r: [S([a, stop, 30], { end: 'rst' })] },
  { id: 'O122', p: 'o', op: 'stream', n: 'finish reason, then an error', r: [S([a, stop, d({ error: { message: 'late', type: 'server_error' } })])] },
  { id: 'O123', p: 'o', op: 'stream', n: '[DONE] and nothing else', r: [S([done])] },
  { id: 'O124', p: 'o', op: 'stream', n: '[DONE] without a finish reason', r: [S([a, done])] },
  { id: 'O125', p: 'o', op: 'stream', n: '[DONE], then a reset', r: [S([a, stop, done, 30], { end: 'rst' })] },
  { id: 'O126', p: 'o', op: 'stream', n: 'cut inside an event', r: [S([part, d(ck({ content: 'never' })).slice(0, 40)])] },
  { id: 'O127', p: 'o', op: 'stream', n: 'finish reason without a blank line, then a reset', r: [S([a, stop.trimEnd(), 30], { end: 'rst' })] },
  { id: 'O128', p: 'o', op: 'stream', n: 'finish reason, one more text, usage', r: [S([a, stop, d(ck({ content: 'b' })), counted({ prompt_tokens: 1, completion_tokens: 2 }), done])] },
  // ---- shapes
  { id: 'O130', p: 'o', op: 'stream', n: 'usage of zeros', r: [S([a, stop, counted({ prompt_tokens: 0, completion_tokens: 0, prompt_tokens_details: null }), done])] },
  { id: 'O131', p: 'o', op: 'stream', n: 'usage of strings, then null, then no object', r: [S([a, stop, counted({ prompt_tokens: '5', completion_tokens: '1' }), counted(null), counted('none'), done])] },
  { id: 'O132', p: 'o', op: 'stream', n: 'usage in every chunk', r: [S([d(ck({ content: 'a' }, null, { usage: { prompt_tokens: 5, completion_tokens: 1 } })), d(ck({}, 'stop', { usage: { prompt_tokens: 5, completion_tokens: 2 } })), done])] },
  { id: 'O133', p: 'o', op: 'stream', n: 'choices missing, null, empty; delta null and missing', r: [S([d({ id: 'c' }), d({ choices: null }), d({ choices: [] }), d({ choices: [{ index: 0, delta: null }] }), d({ choices: [{ index: 0 }] }), a, stop, done])] },
  { id: 'O134', p: 'o', op: 'stream', n: 'content as a list of parts', r: [S([d(ck({ content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] })), d(ck({ content: [] })), d(ck({ content: ['c'] })), stop, done])] },
  { id: 'O135', p: 'o', op: 'stream', n: 'a second choice between', r: [S([a, d({ choices: [{ index: 1, delta: { content: 'X' }, finish_reason: 'stop' }] }), d(ck({ content: 'b' })), stop, done])] },
  { id: 'O136', p: 'o', op: 'stream', n: 'a finish reason of its own, and an empty one before', r: [S([d(ck({ content: 'a' }, '')), d(ck({}, 'eos_token')), done])] },
  { id: 'O137', p: 'o', op: 'stream', n: 'reasoning under its other name, then null', r: [S([d(ck({ reasoning: 'hm', content: '' })), d(ck({ reasoning: null, content: 'a' })), stop, done])] },
  { id: 'O138', p: 'o', op: 'stream', n: 'events of the gateway\'s own', r: [S(['event: ping\ndata: now\n\n', 'event: notice\ndata: {"x":1}\n\n', a, stop, done])] },
  // ---- tool calls
  { id: 'O140', p: 'o', op: 'stream', n: 'calls without an index, told apart by id', r: [S([d(ck({ tool_calls: [tc(null, 'a', 'f', '{"a":')] })), d(ck({ tool_calls: [tc(null, 'a', undefined, '1}')] })), d(ck({ tool_calls: [tc(null, 'b', 'g', '{}')] })), d(ck({}, 'tool_calls')), done])] },
  { id: 'O141', p: 'o', op: 'stream', n: 'call without an index, later fragments without an id', r: [S([d(ck({ tool_calls: [tc(null, 'a', 'f', '')] })), d(ck({ tool_calls: [tc(null, undefined, undefined, '{"a":1')] })), d(ck({ tool_calls: [tc(null, undefined, undefined, '}')] })), d(ck({}, 'tool_calls')), done])] },
  { id: 'O142', p: 'o', op: 'stream', n: 'an index that comes back with another id and a name', r: [S([d(ck({ tool_calls: [tc(0, 'a', 'f', '{"a":1}')] })), d(ck({ tool_calls: [tc(0, 'b', 'g', '{"b":')] })), d(ck({ tool_calls: [tc(0, undefined, undefined, '2}')] })), d(ck({}, 'tool_calls')), done])] },
  { id: 'O143', p: 'o', op: 'stream', n: 'arguments as an object, as null and missing', r: [S([d(ck({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: { a: 1 } } }] })), d(ck({ tool_calls: [{ index: 1, id: 'b', function: { name: 'g', arguments: null } }, { index: 2, id: 'c', function: { name: 'h' } }] })), d(ck({}, 'tool_calls')), done])] },
  { id: 'O144', p: 'o', op: 'stream', n: 'calls in the middle of text, an index with a gap', r: [S([a, d(ck({ content: 'b', tool_calls: [tc(3, 'a', 'f', '{"a":1}')] })), d(ck({}, 'tool_calls')), done])] },
  { id: 'O145', p: 'o', op: 'stream', n: 'arguments that are a list', r: [S([d(ck({ tool_calls: [tc(0, 'a', 'f', '[1]')] })), d(ck({}, 'tool_calls')), done])] },
  { id: 'O146', p: 'o', op: 'stream', n: 'finish reason stop after a call', r: [S([d(ck({ tool_calls: [tc(0, 'a', 'f', '{"a":1}')] })), stop, done])] },
  // ---- errors in a stream
  { id: 'O150', p: 'o', op: 'stream', n: 'error as a string', r: [S([part, d({ error: 'out of memory' }), done])] },
  { id: 'O151', p: 'o', op: 'stream', n: 'error without an envelope', r: [S([part, d({ object: 'error', message: 'gone', type: 'BadGateway', code: 502 })])] },
  { id: 'O152', p: 'o', op: 'stream', n: 'event: error with an object', r: [S([part, ev({ error: { message: 'no', code: 429, type: 'rate_limit_error' } }, '\n', 'error')])] },
  { id: 'O153', p: 'o', op: 'stream', n: 'event: error with plain text', r: [S([part, 'event: error\ndata: boom\n\n'])] },
  { id: 'O154', p: 'o', op: 'stream', n: 'error first', r: [S([d({ error: { message: 'no', type: 'server_error' } })])] },
  { id: 'O155', p: 'o', op: 'stream', n: 'error document with 200', r: [R(200, { error: { message: 'no', type: 'invalid_request_error', code: 'bad' } }, { 'x-request-id': 'r1' })] },
  { id: 'O156', p: 'o', op: 'stream', n: 'error null beside choices', r: [S([d(ck({ content: 'a' }, null, { error: null })), stop, done])] },
  { id: 'O157', p: 'o', op: 'stream', n: 'HTML under text/event-stream', r: [S(['<!doctype html><html><body>502</body></html>'])] },
  { id: 'O158', p: 'o', op: 'stream', n: 'error beside choices with finish reason error', r: [S([part, d({ ...ck({ content: '' }, 'error'), error: { code: 502, message: 'Provider disconnected' } })])] },
  // ---- status and retries
  { id: 'O160', p: 'o', op: 'complete', n: '408 and 409, then 200', r: [R(408, '', { 'retry-after-ms': '5' }), R(409, '', { 'retry-after-ms': '5' }), R(200, comp({ content: 'ok' }))] },
  { id: 'O161', p: 'o', op: 'complete', n: '400 with x-should-retry: true, then 200', r: [R(400, '', { 'x-should-retry': 'true', 'retry-after-ms': '5' }), R(200, comp({ content: 'ok' }))] },
  { id: 'O162', p: 'o', op: 'complete', n: '429 with retry-after in the past, negative and zero', r: [R(429, '', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }), R(429, '', { 'retry-after': '-5' }), R(200, comp({ content: 'ok' }))] },
  { id: 'O163', p: 'o', op: 'complete', n: 'maxRetries 0 with 500', r: [R(500, { error: { message: 'no' } })], o: { maxRetries: 0 } },
  { id: 'O164', p: 'o', op: 'complete', n: 'closed without a byte, every time', r: [{ kill: true }] },
  { id: 'O165', p: 'o', op: 'complete', n: 'body cut after the head: not tried again', r: [R(200, '{"choices":[', { 'content-length': '500' }, { end: 'cut' })] },
  { id: 'O166', p: 'o', op: 'complete', n: '307 and 308 at home', r: [R(307, '', { location: '/v1/chat/completions' }), R(308, '', { location: './completions' }), R(200, comp({ content: 'ok' }))] },
  { id: 'O167', p: 'o', op: 'complete', n: '302 at home, which would lose the body', r: [R(302, '', { location: '/v1/chat/completions' })] },
  { id: 'O168', p: 'o', op: 'complete', n: '301 at home', r: [R(301, 'moved', { location: '/v1/chat/completions' })] },
  { id: 'O169', p: 'o', op: 'complete', n: '307 without a location', r: [R(307, 'where?')] },
  { id: 'O170', p: 'o', op: 'complete', n: 'redirects without end', r: [R(307, '', { location: '/v1/chat/completions' })], o: { maxRetries: 0 } },
  { id: 'O171', p: 'o', op: 'complete', n: 'gzipped error', r: [{ s: 400, h: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, enc: 'length', parts: [`GZIP:${J({ error: { message: 'zipped' } })}`] }] },
  { id: 'O172', p: 'o', op: 'complete', n: 'error of a list (Gemini)', r: [R(400, [{ error: { code: 400, message: 'API key not valid', status: 'INVALID_ARGUMENT' } }])] },
  { id: 'O173', p: 'o', op: 'complete', n: 'long error text', r: [R(400, 'x'.repeat(5_000), { 'content-type': 'text/plain' })] },
  { id: 'O174', p: 'o', op: 'complete', n: 'timeout while the body comes', r: [R(200, '', { 'content-length': '500' }, { parts: ['{"choi', 2_000, 'ces"'] })], o: { timeout: 150 } },
  { id: 'O175', p: 'o', op: 'complete', n: 'too long before the head, then in time', r: [{ hang: true }, R(200, comp({ content: 'ok' }))], o: { timeout: 200 } },
  // ---- whole answers
  { id: 'O180', p: 'o', op: 'complete', n: 'content as parts, reasoning, finish reason function_call', r: [R(200, comp({ content: [{ type: 'text', text: 'h' }, { type: 'text', text: 'i' }], reasoning_content: 'r' }, 'function_call'))] },
  { id: 'O181', p: 'o', op: 'complete', n: 'arguments not JSON', r: [R(200, comp({ content: null, tool_calls: [call('{"a":tru')] }, 'tool_calls'))] },
  { id: 'O182', p: 'o', op: 'complete', n: 'arguments cut by the output limit', r: [R(200, comp({ content: null, tool_calls: [call('{"a":tru')] }, 'length'))] },
  { id: 'O183', p: 'o', op: 'complete', n: 'arguments null, an object, and blank', r: [R(200, comp({ content: '', tool_calls: [call(null), call({ a: 1 }, 'g'), call('  ', 'h')] }, 'tool_calls'))] },
  { id: 'O184', p: 'o', op: 'complete', n: 'a list of no use', r: [R(200, '[]')] },
  { id: 'O185', p: 'o', op: 'complete', n: 'null', r: [R(200, 'null')] },
  { id: 'O186', p: 'o', op: 'complete', n: 'an object that is no completion', r: [R(200, { status: 'ok' })] },
  { id: 'O187', p: 'o', op: 'complete', n: 'byte order mark before the document', r: [R(200, '', {}, { parts: [Buffer.concat([MARK, Buffer.from(J(comp({ content: 'hi' })))])] })] },
  { id: 'O188', p: 'o', op: 'complete', n: 'a tool without a name', r: [R(200, comp({ content: null, tool_calls: [call('{}', '')] }, 'tool_calls'))] },
  { id: 'O189', p: 'o', op: 'complete', n: 'lone surrogate and NUL in the text', r: [R(200, J(comp({ content: 'X' })).replace('"X"', '"a\\ud800b\\u0000"'))] },
  { id: 'O190', p: 'o', op: 'complete', n: 'error beside an empty list of choices', r: [R(200, { choices: [], error: { message: 'no', code: 'x' } })] },
  { id: 'O191', p: 'o', op: 'complete', n: 'duplicate keys and nesting in arguments', r: [R(200, comp({ content: null, tool_calls: [call('{"a":1,"a":2,"__proto__":{"b":3}}')] }, 'tool_calls'))] },
  // ---- Anthropic
  { id: 'A100', p: 'a', op: 'stream', n: 'message_stop twice, text after it', r: [S([...aText(), ...E(me, td(0, 'LATE'), me)])] },
  { id: 'A101', p: 'a', op: 'stream', n: 'no event: lines', r: [S(aText().map((event) => event.replace(/^event:.*\n/, '')))] },
  { id: 'A102', p: 'a', op: 'stream', n: 'event: message throughout', r: [S(aText().map((event) => event.replace(/^event:.*\n/, 'event: message\n')))] },
  { id: 'A103', p: 'a', op: 'stream', n: 'stop reason, then a clean end', r: [S(aOk(md()))] },
  { id: 'A104', p: 'a', op: 'stream', n: 'message_stop without a stop reason', r: [S(aOk(me))] },
  { id: 'A105', p: 'a', op: 'stream', n: 'a stop reason of its own', r: [S(aOk(md('pause_turn'), me))] },
  { id: 'A106', p: 'a', op: 'stream', n: 'error without an event: line', r: [S([...aPart, d(aerr('api_error', 'Internal'))])] },
  { id: 'A107', p: 'a', op: 'stream', n: 'error first: not tried again', r: [S(E(aerr('overloaded_error', 'Overloaded')))] },
  { id: 'A108', p: 'a', op: 'stream', n: 'error as OpenAI writes it', r: [S([...aPart, d({ error: { message: 'proxy', code: 'x' } })])] },
  { id: 'A109', p: 'a', op: 'stream', n: 'event: error with plain text', r: [S([...aPart, 'event: error\ndata: boom\n\n'])] },
  { id: 'A110', p: 'a', op: 'stream', n: 'usage missing, null and of strings', r: [S(E(ms(null), bs(0, { type: 'text', text: '' }), td(0, 'ok'), be(0), md('end_turn', 'none'), md('end_turn', { input_tokens: '4', output_tokens: null }), me))] },
  { id: 'A111', p: 'a', op: 'stream', n: 'cache fields null', r: [S(E(ms({ input_tokens: 3, cache_creation_input_tokens: null, cache_read_input_tokens: null, output_tokens: 0 }), bs(0, { type: 'text', text: '' }), td(0, 'ok'), be(0), md('end_turn', { output_tokens: 2 }), me))] },
  { id: 'A112', p: 'a', op: 'stream', n: 'deltas without an index', r: [S(E(ms(), bs(0, { type: 'tool_use', id: 't', name: 'f', input: {} }), { ...jd(0, '{"a":1}'), index: undefined }, { type: 'content_block_stop' }, md('tool_use'), me))] },
  { id: 'A113', p: 'a', op: 'stream', n: 'input whole in the block\'s start', r: [S(E(ms(), bs(0, { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }), be(0), md('tool_use'), me))] },
  { id: 'A114', p: 'a', op: 'stream', n: 'two calls between each other', r: [S(E(ms(), bs(0, { type: 'tool_use', id: 't', name: 'f', input: {} }), bs(1, { type: 'tool_use', id: 'u', name: 'g', input: {} }), jd(0, '{"a"'), jd(1, '{"b":'), jd(0, ':1}'), jd(1, '2}'), be(1), be(0), md('tool_use'), me))] },
  { id: 'A115', p: 'a', op: 'stream', n: 'a tool that the provider runs', r: [S(E(ms(), bs(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }), jd(0, '{"query":"x"}'), be(0), bs(1, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }), be(1), bs(2, { type: 'text', text: '' }), { type: 'content_block_delta', index: 2, delta: { type: 'citations_delta', citation: {} } }, td(2, 'ok'), be(2), md(), me))] },
  { id: 'A116', p: 'a', op: 'stream', n: 'text in the block\'s start', r: [S(E(ms(), bs(0, { type: 'text', text: 'o' }), td(0, 'k'), be(0), md(), me))] },
  { id: 'A117', p: 'a', op: 'stream', n: 'the context window is full', r: [S(aOk(md('model_context_window_exceeded'), me))] },
  { id: 'A118', p: 'a', op: 'stream', n: 'gateway events that are not JSON', r: [S(['event: keepalive\ndata: .\n\n', ...aText()])] },
  { id: 'A119', p: 'a', op: 'stream', n: 'a delta that is not JSON', r: [S([...aPart, 'event: content_block_delta\ndata: {"type":\n\n'])] },
  { id: 'A120', p: 'a', op: 'stream', n: 'gzip, one byte per chunk', r: [S(gzipped(aText('\r\n').join('')), { h: gzipHeaders })] },
  { id: 'A121', p: 'a', op: 'stream', n: 'ping between all events, stop reason null first', r: [S(E(...[ms(), bs(0, { type: 'text', text: '' }), td(0, 'ok'), be(0), md(null), md(), me].flatMap((event) => [ping, event])))] },
  { id: 'A122', p: 'a', op: 'stream', n: 'error document with 200', r: [R(200, aerr('not_found_error', 'model: x'))] },
  { id: 'A123', p: 'a', op: 'stream', n: 'message_stop, the connection kept open', r: [S(aText(), { end: 'hang' })] },
  { id: 'A130', p: 'a', op: 'complete', n: 'a stream underneath, above 21 333 tokens', r: [S(E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'o'), td(0, 'k'), be(0), bs(1, { type: 'tool_use', id: 't', name: 'f', input: {} }), jd(1, '{"a":1}'), be(1), md('tool_use'), me))], o: { maxTokens: 30_000 } },
  { id: 'A131', p: 'a', op: 'complete', n: 'a stream underneath that is cut', r: [S(aPart)], o: { maxTokens: 30_000 } },
  { id: 'A132', p: 'a', op: 'complete', n: 'a stream underneath without text', r: [S(E(ms(), md(), me))], o: { maxTokens: 30_000 } },
  { id: 'A133', p: 'a', op: 'complete', n: 'content null', r: [R(200, amsg(null))] },
  { id: 'A134', p: 'a', op: 'complete', n: 'unknown blocks, a tool without input', r: [R(200, amsg([{ type: 'hologram' }, { type: 'redacted_thinking', data: 'x' }, { type: 'tool_use', id: 't', name: 'f' }], { stop_reason: 'tool_use' }))] },
  { id: 'A135', p: 'a', op: 'complete', n: 'stop sequence, usage missing', r: [R(200, amsg([{ type: 'text', text: 'ok' }], { stop_reason: 'stop_sequence', usage: undefined }))] },
  { id: 'A136', p: 'a', op: 'complete', n: 'HTML with 200', r: [R(200, '<html>login</html>', { 'content-type': 'text/html' })] },
  { id: 'A137', p: 'a', op: 'complete', n: '404 of another server', r: [R(404, '{"detail":"Not Found"}')] },
]
