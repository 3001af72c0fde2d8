// @ts-check
/**
 * What providers send, byte for byte and chunk for chunk, as data; `expected.ts` says what becomes of it.
 *
 * @typedef {object} WireCase
 * @property {string} id
 * @property {'o' | 'a'} p OpenAI Chat Completions or Anthropic Messages
 * @property {'stream' | 'complete'} op
 * @property {string} n what it is
 * @property {import('./server.mjs').Answer[]} r one answer per attempt
 * @property {{ abortMs?: number, timeout?: number, maxRetries?: number, maxTokens?: number, model?: string, dead?: boolean, timed?: boolean }} [o] how the call is made
 */
import { E, J, MARK, R, S, aText, aerr, amsg, be, bs, bytes1, ck, comp, d, ev, jd, md, me, ms, oText, ping, tc, td } from './frames.mjs'

/** @type {WireCase[]} */
export const cases = [
  // ---- OpenAI, stream
  { id: 'O01', p: 'o', op: 'stream', n: 'plain LF stream, one event per HTTP chunk', r: [S(oText('\n'))] },
  { id: 'O02', p: 'o', op: 'stream', n: 'same bytes, one byte per HTTP chunk (UTF-8 sequences cut)', r: [S(bytes1(oText('\n').join('')))] },
  { id: 'O03', p: 'o', op: 'stream', n: 'CRLF endings, one byte per chunk', r: [S(bytes1(oText('\r\n').join('')))] },
  { id: 'O04', p: 'o', op: 'stream', n: 'CR-only endings, one chunk', r: [S([oText('\r').join('')])] },
  { id: 'O05', p: 'o', op: 'stream', n: 'comments, id:, retry:, event: message, blank-line runs, no space after colon', r: [S([': OPENROUTER PROCESSING\n\n', ':\n\n', '\n\n', 'id: 7\nretry: 3000\nevent: message\ndata:' + J(ck({ role: 'assistant', content: 'a' })) + '\n\n', ': ping\n\n', d(ck({ content: 'b' })), d(ck({}, 'stop')), 'data:[DONE]\n\n'])] },
  { id: 'O07', p: 'o', op: 'stream', n: 'UTF-8 BOM before the first field', r: [S([Buffer.concat([MARK, Buffer.from(oText('\n').join(''))])])] },
  { id: 'O08', p: 'o', op: 'stream', n: 'last event has no blank line, then clean EOF (no [DONE])', r: [S([d(ck({ role: 'assistant', content: 'a' })), 'data: ' + J(ck({ content: 'Z' }, 'stop'))])] },
  { id: 'O09', p: 'o', op: 'stream', n: 'clean EOF after a delta: no finish_reason, no [DONE]', r: [S([d(ck({ role: 'assistant', content: 'part' }))])] },
  { id: 'O10', p: 'o', op: 'stream', n: 'socket reset mid-stream (chunked body not terminated)', r: [S([d(ck({ role: 'assistant', content: 'part' })), 50], { end: 'rst' })] },
  { id: 'O11', p: 'o', op: 'stream', n: 'FIN mid-stream without the final 0-chunk', r: [S([d(ck({ role: 'assistant', content: 'part' })), 50], { end: 'cut' })] },
  { id: 'O12', p: 'o', op: 'stream', n: 'events after [DONE]; [DONE] with trailing junk', r: [S([d(ck({ role: 'assistant', content: 'a' })), d(ck({}, 'stop')), d('[DONE] bye'), d(ck({ content: 'LATE' })), d('not json')])] },
  { id: 'O13', p: 'o', op: 'stream', n: '[DONE] sent, connection kept open 1.5 s before FIN', r: [S([...oText('\n'), 1500])], o: { timed: true } },
  { id: 'O14', p: 'o', op: 'stream', n: 'data: {"error":{..}} mid-stream', r: [S([d(ck({ role: 'assistant', content: 'part' })), d({ error: { message: 'backend died', type: 'server_error', code: 'x1', param: null } })])] },
  { id: 'O16', p: 'o', op: 'stream', n: 'data line is not JSON', r: [S([d(ck({ role: 'assistant', content: 'part' })), d('{"id":'), d('[DONE]')])] },
  { id: 'O17', p: 'o', op: 'stream', n: 'usage: first chunk choices:[] (Azure filter), last chunk choices:[] + usage', r: [S([d({ id: '', object: '', model: '', created: 0, choices: [], prompt_filter_results: [] }), d(ck({ role: 'assistant', content: 'a' }, null, { usage: null })), d(ck({}, 'stop', { usage: null })), d({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6, prompt_tokens_details: { cached_tokens: 4 } } }), d('[DONE]')])] },
  { id: 'O18', p: 'o', op: 'stream', n: 'usage in a chunk with one empty choice and no finish_reason key (LiteLLM)', r: [S([d({ id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: 'a' } }] }), d({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }), d({ id: 'c', choices: [{ index: 0, delta: {} }], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } }), d('[DONE]')])] },
  { id: 'O20', p: 'o', op: 'stream', n: 'two tool calls, fragments interleaved by index', r: [S([d(ck({ role: 'assistant', content: null })), d(ck({ tool_calls: [tc(0, 'call_a', 'f', '')] })), d(ck({ tool_calls: [tc(1, 'call_b', 'g', '')] })), d(ck({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }, { index: 1, function: { arguments: '{"b":' } }] })), d(ck({ tool_calls: [{ index: 1, function: { arguments: '2}' } }] })), d(ck({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] })), d(ck({}, 'tool_calls')), d('[DONE]')])] },
  { id: 'O22', p: 'o', op: 'stream', n: 'later fragments repeat id and send name "" or null', r: [S([d(ck({ role: 'assistant', tool_calls: [tc(0, 'call_a', 'f', '{')] })), d(ck({ tool_calls: [{ index: 0, id: 'call_a', function: { name: '', arguments: '"a":' } }] })), d(ck({ tool_calls: [{ index: 0, id: '', function: { name: null, arguments: '1}' } }] })), d(ck({}, 'tool_calls')), d('[DONE]')])] },
  { id: 'O23', p: 'o', op: 'stream', n: 'reasoning_content deltas, content null, then content', r: [S([d(ck({ role: 'assistant', content: null, reasoning_content: 'hmm' })), d(ck({ content: null, reasoning_content: ' ok' })), d(ck({ content: 'Answer' })), d(ck({}, 'stop')), d('[DONE]')])] },
  { id: 'O24', p: 'o', op: 'stream', n: 'finish_reason length inside tool arguments', r: [S([d(ck({ role: 'assistant', tool_calls: [tc(0, 'call_a', 'f', '{"a":"tru')] })), d(ck({}, 'length')), d('[DONE]')])] },
  { id: 'O25', p: 'o', op: 'stream', n: 'stream asked, 200 application/json completion came (LiteLLM mock)', r: [R(200, comp({ content: 'whole' }))] },
  { id: 'O26', p: 'o', op: 'stream', n: '200 text/html page', r: [{ s: 200, h: { 'content-type': 'text/html' }, enc: 'length', end: 'fin', parts: ['<html>login</html>'] }] },
  { id: 'O27', p: 'o', op: 'stream', n: 'gzip content-encoding on SSE', r: [S(['GZIP:' + oText('\n').join('')], { h: { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' } })] },
  { id: 'O29', p: 'o', op: 'stream', n: 'abort 150 ms in, after one delta; server keeps sending', r: [S([d(ck({ role: 'assistant', content: 'a' })), 600, d(ck({ content: 'b' })), d('[DONE]')])], o: { abortMs: 150 } },
  { id: 'O30', p: 'o', op: 'stream', n: 'abort 150 ms in, before response headers', r: [S([d(ck({ content: 'a' })), d('[DONE]')], { delay: 800 })], o: { abortMs: 150 } },
  { id: 'O31', p: 'o', op: 'stream', n: 'no event for 1.2 s with timeout 400 ms, headers at once', r: [S([d(ck({ role: 'assistant', content: 'a' })), 1200, d(ck({ content: 'b' }, 'stop')), d('[DONE]')])], o: { timeout: 400 } },
  // ---- OpenAI, complete
  { id: 'O32', p: 'o', op: 'complete', n: 'content null + two tool calls, one with arguments ""', r: [R(200, comp({ content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }, { id: 'b', type: 'function', function: { name: 'g', arguments: '' } }] }, 'tool_calls'))] },
  { id: 'O34', p: 'o', op: 'complete', n: 'no usage, choices []', r: [R(200, { id: 'x', object: 'chat.completion', choices: [] })] },
  { id: 'O35', p: 'o', op: 'complete', n: '200 with text/plain content-type but JSON body', r: [R(200, comp({ content: 'hi' }), { 'content-type': 'text/plain' })] },
  { id: 'O36', p: 'o', op: 'complete', n: '200, JSON cut in the middle (content-length matches)', r: [R(200, '{"id":"x","choices":[')] },
  { id: 'O38', p: 'o', op: 'complete', n: '400 OpenAI error object', r: [R(400, { error: { message: 'bad thing', type: 'invalid_request_error', param: 'messages', code: 'bad_code' } }, { 'x-request-id': 'req_9' })] },
  { id: 'O39', p: 'o', op: 'complete', n: '404 {"detail":"Not Found"}', r: [R(404, { detail: 'Not Found' })] },
  { id: 'O40', p: 'o', op: 'complete', n: '401 {"error":"invalid key"} (string)', r: [R(401, { error: 'invalid key' })] },
  { id: 'O41', p: 'o', op: 'complete', n: '500, 500, then 200', r: [R(500, { error: { message: 'x' } }), R(500, { error: { message: 'x' } }), R(200, comp({ content: 'ok' }))], o: { timed: true } },
  { id: 'O42', p: 'o', op: 'complete', n: '502 HTML three times', r: [502, 502, 502].map((s) => R(s, '<html>Bad Gateway</html>', { 'content-type': 'text/html', 'retry-after-ms': '20' })), o: { timed: true } },
  { id: 'O43', p: 'o', op: 'complete', n: '429 retry-after: 1, then 200', r: [R(429, { error: { message: 'slow' } }, { 'retry-after': '1' }), R(200, comp({ content: 'ok' }))], o: { timed: true } },
  { id: 'O44', p: 'o', op: 'complete', n: '429 retry-after-ms: 30 (retry-after: 9 also set), then 200', r: [R(429, { error: { message: 'slow' } }, { 'retry-after': '9', 'retry-after-ms': '30' }), R(200, comp({ content: 'ok' }))], o: { timed: true } },
  { id: 'O45', p: 'o', op: 'complete', n: '500 with x-should-retry: false', r: [R(500, { error: { message: 'no' } }, { 'x-should-retry': 'false' })] },
  { id: 'O47', p: 'o', op: 'complete', n: 'socket closed before any byte, then 200', r: [{ kill: true }, R(200, comp({ content: 'ok' }))], o: { timed: true } },
  { id: 'O48', p: 'o', op: 'complete', n: 'no response, timeout 200 ms, maxRetries 0', r: [{ hang: true }], o: { timeout: 200, maxRetries: 0 } },
  { id: 'O50', p: 'o', op: 'complete', n: 'port closed (ECONNREFUSED), default retries', r: [], o: { dead: true, timed: true } },
  { id: 'O52', p: 'o', op: 'complete', n: 'signal already aborted', r: [R(200, comp({ content: 'no' }))], o: { abortMs: -1 } },
  { id: 'O53', p: 'o', op: 'complete', n: '204 No Content', r: [{ s: 204, h: {}, enc: 'none', end: 'fin', parts: [] }] },
  { id: 'O55', p: 'o', op: 'complete', n: 'abort while waiting between retries (retry-after: 2, abort at 150 ms)', r: [R(429, { error: { message: 'slow' } }, { 'retry-after': '2' }), R(200, comp({ content: 'ok' }))], o: { abortMs: 150, timed: true } },
  { id: 'O58', p: 'o', op: 'stream', n: 'role/tool_calls/function_call null, id repeated, function_call doubled (llama-cpp-python)', r: [S([d(ck({ role: 'assistant', content: null, function_call: null, tool_calls: null })), d(ck({ role: null, content: null, function_call: { name: 'f', arguments: '{ "a"' }, tool_calls: [tc(0, 'call__0_f', 'f', '{ "a"')] })), d(ck({ role: null, content: null, function_call: { name: 'f', arguments: ': 1} ' }, tool_calls: [tc(0, 'call__0_f', 'f', ': 1} ')] })), d(ck({ role: null, content: null, function_call: null, tool_calls: null }, 'tool_calls')), d('[DONE]')])] },
  { id: 'O59', p: 'o', op: 'stream', n: '200 event-stream, empty body (llama-cpp-python context overflow)', r: [S([])] },
  { id: 'O62', p: 'o', op: 'stream', n: '503 twice, then a stream', r: [R(503, 'x', { 'content-type': 'text/plain', 'retry-after-ms': '20' }), R(503, 'x', { 'content-type': 'text/plain', 'retry-after-ms': '20' }), S(oText('\n'))], o: { timed: true } },
  { id: 'O63', p: 'o', op: 'complete', n: '403 with empty body', r: [R(403, '')] },
  // ---- Anthropic, stream
  { id: 'A01', p: 'a', op: 'stream', n: 'plain stream with ping', r: [S(aText())] },
  { id: 'A02', p: 'a', op: 'stream', n: 'CRLF, one byte per chunk', r: [S(bytes1(aText('\r\n').join('')))] },
  { id: 'A03', p: 'a', op: 'stream', n: 'thinking + signature, redacted_thinking, then text', r: [S(E(ms(), bs(0, { type: 'thinking', thinking: '', signature: '' }), { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hmm' } }, { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } }, be(0), bs(1, { type: 'redacted_thinking', data: 'ZW5j' }), be(1), bs(2, { type: 'text', text: '' }), td(2, 'Answer'), be(2), md(), me))] },
  { id: 'A04', p: 'a', op: 'stream', n: 'text then tool_use: first partial_json "", fragments inside escapes and UTF-8', r: [S([E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'Checking'), be(0), bs(1, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }), jd(1, ''), jd(1, '{"q":"\\u00'), jd(1, 'e9 日'), jd(1, '本\\"'), jd(1, '","n":[1,2]}'), be(1), md('tool_use'), me).join('')])] },
  { id: 'A06', p: 'a', op: 'stream', n: 'tool_use without any delta (no arguments)', r: [S(E(ms(), bs(0, { type: 'tool_use', id: 't0', name: 'ping', input: {} }), be(0), md('tool_use'), me))] },
  { id: 'A07', p: 'a', op: 'stream', n: 'event: error overloaded_error after one delta', r: [S(E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'part'), aerr('overloaded_error', 'Overloaded')))] },
  { id: 'A10', p: 'a', op: 'stream', n: 'unknown event, unknown block type, unknown delta type', r: [S(E(ms(), { type: 'vendor_thing', x: 1 }, bs(0, { type: 'hologram', v: 1 }), { type: 'content_block_delta', index: 0, delta: { type: 'hologram_delta', v: 2 } }, be(0), bs(1, { type: 'text', text: '' }), td(1, 'ok'), be(1), md(), me))] },
  { id: 'A12', p: 'a', op: 'stream', n: 'clean EOF after a delta (no message_stop)', r: [S(E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'part')))] },
  { id: 'A14', p: 'a', op: 'stream', n: 'socket reset after a delta', r: [S([...E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'part')), 50], { end: 'rst' })] },
  { id: 'A15', p: 'a', op: 'stream', n: 'usage: cache fields in message_start, cumulative totals in message_delta', r: [S(E(ms({ input_tokens: 3, cache_creation_input_tokens: 100, cache_read_input_tokens: 2000, output_tokens: 1 }), bs(0, { type: 'text', text: '' }), td(0, 'ok'), be(0), md('end_turn', { input_tokens: 4, cache_creation_input_tokens: 100, cache_read_input_tokens: 2000, output_tokens: 12 }), me))] },
  { id: 'A16', p: 'a', op: 'stream', n: 'tool JSON broken at the end of the block', r: [S(E(ms(), bs(0, { type: 'tool_use', id: 't0', name: 'f', input: {} }), jd(0, '{"a": tru nope'), be(0), md('max_tokens'), me))] },
  { id: 'A18', p: 'a', op: 'stream', n: 'stream asked, 200 application/json message came (LiteLLM mock)', r: [R(200, amsg([{ type: 'text', text: 'whole' }]))] },
  { id: 'A19', p: 'a', op: 'stream', n: 'stop_reason refusal with stop_details, empty content', r: [S(E(ms(), { type: 'message_delta', delta: { stop_reason: 'refusal', stop_sequence: null, stop_details: { type: 'refusal', category: 'x', explanation: 'no' } }, usage: { output_tokens: 1 } }, me))] },
  { id: 'A21', p: 'a', op: 'stream', n: 'abort 150 ms in, after one delta', r: [S([...E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'a')), 600, ...E(td(0, 'b'), me)])], o: { abortMs: 150 } },
  { id: 'A22', p: 'a', op: 'stream', n: '529 overloaded three times', r: [529, 529, 529].map((s) => R(s, aerr('overloaded_error', 'Overloaded'), { 'request-id': 'req_7', 'retry-after-ms': '20' })), o: { timed: true } },
  // ---- Anthropic, complete
  { id: 'A23', p: 'a', op: 'complete', n: 'thinking + two text blocks + tool_use', r: [R(200, amsg([{ type: 'thinking', thinking: 'h', signature: 's' }, { type: 'text', text: 'A' }, { type: 'text', text: 'B' }, { type: 'tool_use', id: 't0', name: 'f', input: { a: 1 } }], { stop_reason: 'tool_use', usage: { input_tokens: 3, output_tokens: 6, cache_read_input_tokens: 100, cache_creation_input_tokens: 7 } }))] },
  { id: 'A24', p: 'a', op: 'complete', n: 'content [] end_turn', r: [R(200, amsg([]))] },
  { id: 'A25', p: 'a', op: 'complete', n: '400 error object + request-id header', r: [R(400, aerr('invalid_request_error', 'max_tokens: too large'), { 'request-id': 'req_5' })] },
  { id: 'A26', p: 'a', op: 'complete', n: '413 request_too_large', r: [R(413, aerr('request_too_large', 'too big'))] },
  { id: 'A28', p: 'a', op: 'complete', n: '503 plain text, then 200', r: [R(503, 'upstream connect error', { 'content-type': 'text/plain', 'retry-after-ms': '20' }), R(200, amsg([{ type: 'text', text: 'ok' }]))], o: { timed: true } },
  { id: 'A29', p: 'a', op: 'complete', n: 'maxTokens 21334 (non-streaming guard)', r: [R(200, amsg([{ type: 'text', text: 'ok' }]))], o: { maxTokens: 21334 } },
  { id: 'A31', p: 'a', op: 'complete', n: 'model claude-opus-4-20250514, maxTokens 8193', r: [R(200, amsg([{ type: 'text', text: 'ok' }]))], o: { maxTokens: 8193, model: 'claude-opus-4-20250514' } },
  { id: 'A32', p: 'a', op: 'complete', n: '200 with {"type":"error"} body', r: [R(200, aerr('api_error', 'soft fail'))] },
  { id: 'A34', p: 'a', op: 'stream', n: 'ping before message_start', r: [S([ev(ping), ...aText()])] },
  { id: 'A37', p: 'a', op: 'stream', n: '200 event-stream, empty body', r: [S([])] },
  { id: 'A39', p: 'a', op: 'stream', n: 'CR-only endings', r: [S([aText('\r').join('')])] },
  { id: 'A40', p: 'a', op: 'stream', n: 'UTF-8 BOM before the first field', r: [S([Buffer.concat([MARK, Buffer.from(aText().join(''))])])] },
]
