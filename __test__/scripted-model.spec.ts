// The provider that the examples talk to where there is no key.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startScriptedModel } from '../examples/support/scripted-model.mjs'

let model: Awaited<ReturnType<typeof startScriptedModel>>
beforeAll(async () => {
  model = await startScriptedModel({ ttft: 0, tps: 10_000 })
})
afterAll(() => model.stop())

const told = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hello! I am Mei, and I am going to Kyoto in April.' },
  { role: 'assistant', content: 'Nice to meet you!' },
]

async function ask(messages: object[]): Promise<string[]> {
  const response = await fetch(`${model.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted', stream: true, stream_options: { include_usage: true }, messages }),
  })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('data: '))
  expect(events.pop()).toBe('data: [DONE]')
  const chunks = events.map((event) => JSON.parse(event.slice('data: '.length)) as { choices: { delta: { content?: string } }[] })
  return chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).filter((piece) => piece !== '')
}

it('answers in pieces, from what it was sent', async () => {
  const pieces = await ask([...told, { role: 'user', content: 'Do you still know my name?' }])
  expect(pieces.length).toBeGreaterThan(5)
  expect(pieces.join('')).toContain('You are Mei')
  expect(model.received().map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
})

it('knows nothing that it was not sent', async () => {
  expect((await ask([{ role: 'user', content: 'Do you know my name?' }])).join('')).toContain('not told me')
})

it.each([
  ['with a hint', [{ role: 'system', content: 'The user loves quiet places.' }], 'Honen-in'],
  ['without one', [], 'Kiyomizu-dera'],
])('recommends %s', async (_, hint, place) => {
  expect((await ask([...hint, ...told, { role: 'user', content: 'Where should I go first?' }])).join('')).toContain(place)
})

it('answers anything', async () => {
  expect((await ask([{ role: 'user', content: 'Bonjour' }])).join('')).toContain('Bonjour')
})
