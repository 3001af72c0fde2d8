// @ts-check
'use strict'

const assert = require('node:assert/strict')
const { contents, meta, record } = require('./samples.cjs')

/** @import { SessionStorage } from '../../../index.js' */
/** @import { Case, MainCase } from './index.cjs' */

const TEXTS = [
  ' ',
  ' leading and trailing ',
  'line\r\nfeed\ttab \u007f \u0001\u001f \u2028\u2029',
  'quotes " \' ` \\ $1 ? :x @y %s %_',
  "'; DROP TABLE records; --",
  '\\u0000 and \\ud800 as typed',
  '🎉👩‍👩‍👧 日本語 ﷽ e\u0301 \u{10ffff}',
  '\ufeffbom \ufffd\uffff',
  '__proto__',
  'constructor',
]

/** Texts that a storage may also refuse, as long as it says so. */
const HARD_TEXTS = ['a NUL \0 in the middle', '\0', 'half a pair \ud83d', '\udc00a\udbff']

/** JSON that is easily mangled: key order, numbers, keys that mean something to objects. */
const JSONS = [
  '{"z":1,"a":2,"é":3,"":4}',
  '{"__proto__":{"polluted":true},"constructor":1,"toString":"x"}',
  '{"big":9223372036854775807,"bigger":18446744073709551616,"small":-1e-7,"huge":1e300,"past":9007199254740993,"infinite":1e400}',
  '{"null":null,"empty":{},"list":[[],[null],[[{}]]],"text":""}',
  '{"text":"\\u2028 🎉 \\"\\\\"}',
]
const HARD_JSONS = ['{"nul":"a\\u0000b"}', '{"lone":"\\ud83d"}', '{"a\\u0000b":1,"\\udc00":2}']

/** @type {Case[]} */
const session = [
  ...TEXTS.map((text) => ({ name: `text ${JSON.stringify(text)} is kept everywhere`, run: (/** @type {SessionStorage} */ storage) => keepsText(storage, text) })),
  ...HARD_TEXTS.map((text) => ({
    name: `text ${JSON.stringify(text)} is kept or refused, never altered`,
    run: (/** @type {SessionStorage} */ storage) => keepsOrRefuses(storage, () => keepsText(storage, text)),
  })),
  ...JSONS.map((json) => ({ name: `JSON ${json} is kept in metadata, tool input and unknown properties`, run: (/** @type {SessionStorage} */ storage) => keepsJson(storage, json) })),
  ...HARD_JSONS.map((json) => ({
    name: `JSON ${json} is kept or refused, never altered`,
    run: (/** @type {SessionStorage} */ storage) => keepsOrRefuses(storage, () => keepsJson(storage, json)),
  })),
  {
    name: 'ids that look alike are kept apart',
    async run(storage) {
      const long = 'x'.repeat(300)
      const ids = ['a', 'A', 'ä', 'a\u0308', ' a', 'a ', '', '%', '_', '__proto__', 'constructor', '0', '00', long, `${long}y`]
      for (const id of ids) {
        await storage.putSession({ ...meta(id), label: id })
        await storage.appendRecord(id, record('user', id))
        await storage.putMemory(id, id)
      }
      for (const id of ids) {
        assert.equal((await storage.getSession(id))?.id, id)
        assert.deepEqual(await contents(storage, id), [id])
        assert.equal(await storage.getMemory(id), id)
      }
    },
  },
  {
    name: 'ten megabytes are kept',
    async run(storage) {
      const big = '十 MB\n"'.repeat((10 * 1024 * 1024) / 8)
      await storage.appendRecord('s', record('user', big))
      await storage.appendRecord('s', record('assistant', 'after'))
      await storage.putMemory('s', big)
      const [first, second] = await contents(storage, 's')
      // Not by assert.equal, whose message would hold both.
      assert.ok(first === big, 'the record is as it was')
      assert.equal(second, 'after')
      assert.ok((await storage.getMemory('s')) === big, 'the memory is as it was')
    },
  },
]

/** @type {MainCase[]} */
const main = [
  {
    name: 'texts and JSON of every kind are kept in nodes, tags and globals',
    async run(storage) {
      for (const [n, text] of TEXTS.entries()) {
        await storage.putSession({ ...meta(`s${n}`), tags: [text] })
        assert.deepEqual((await storage.listSessions({ tags: [text] })).map(({ tags }) => tags), [[text]])
        await storage.putNode({ id: `${text}!`, parentId: text, label: text })
        assert.deepEqual((await storage.getChildren(text)).map((node) => ({ ...node })), [{ id: `${text}!`, parentId: text, label: text }])
        await storage.putGlobal(text, text)
      }
      for (const text of TEXTS) assert.equal(await storage.getGlobal(text), text)
      for (const json of JSONS) {
        await storage.putGlobal('json', JSON.parse(json))
        assert.equal(JSON.stringify(await storage.getGlobal('json')), carried(json))
      }
    },
  },
]

/**
 * @param {SessionStorage} storage
 * @param {string} text
 */
async function keepsText(storage, text) {
  const id = `id ${text}`
  await storage.putSession({ ...meta(id), label: text, tags: [text] })
  await storage.putSystemPrompt(id, text)
  await storage.putInsight(id, text)
  await storage.putMemory(id, text)
  await storage.appendRecord(id, { ...record('tool', text), toolCallId: text })
  const { label, tags } = (await storage.getSession(id)) ?? {}
  assert.deepEqual([label, tags], [text, [text]])
  assert.equal(await storage.getSystemPrompt(id), text)
  assert.equal(await storage.getInsight(id), text)
  assert.equal(await storage.getMemory(id), text)
  assert.deepEqual((await storage.listRecords(id)).map(({ content, toolCallId }) => [content, toolCallId]), [[text, text]])
}

/**
 * @param {SessionStorage} storage
 * @param {string} json
 */
async function keepsJson(storage, json) {
  await storage.putSession({ ...meta('s'), metadata: JSON.parse(json) })
  assert.equal(JSON.stringify((await storage.getSession('s'))?.metadata), carried(json))
  const put = { ...record('assistant', ''), toolCalls: [{ id: 'c', name: 'f', input: JSON.parse(json) }], extra: JSON.parse(json) }
  await storage.appendRecord('s', put)
  const [got] = await storage.listRecords('s')
  const { toolCalls, extra } = /** @type {typeof put} */ (got)
  assert.equal(JSON.stringify(toolCalls[0]?.input), carried(json))
  assert.equal(JSON.stringify(extra), carried(json))
  assert.equal(/** @type {{ polluted?: boolean }} */ ({}).polluted, undefined)
}

/**
 * What JavaScript makes of it, which is all that can be asked for: 1e400 becomes `null`.
 *
 * @param {string} json
 */
function carried(json) {
  return JSON.stringify(JSON.parse(json))
}

/**
 * Passes where `keeps` passes, or where the storage rejected with an error of its own and goes on working.
 *
 * @param {SessionStorage} storage
 * @param {() => Promise<void>} keeps
 */
async function keepsOrRefuses(storage, keeps) {
  try {
    await keeps()
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    assert.ok(error instanceof Error && error.message !== '', 'a refusal says why')
    await storage.appendRecord('after', record('user', 'works'))
    assert.deepEqual(await contents(storage, 'after'), ['works'])
  }
}

module.exports = { main, session }
