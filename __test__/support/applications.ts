import type { LLMAdapter, LLMResult, Message } from '@stello-ai/session'
import { schoolDay } from '../../examples/first-generation.js'
import { shopDay } from '../../examples/second-generation.js'

type Storage = Parameters<typeof schoolDay>[0]

/** A model that answers `re: TEXT` to the last message, and asks for tools where the shop's questions need them. */
function model() {
  const prompts: Message[][] = []
  const answer = (messages: Message[]): LLMResult => {
    prompts.push(structuredClone(messages))
    const content = messages.at(-1)?.content ?? ''
    const ask = (name: string, input: Record<string, unknown>): LLMResult => ({ content: null, toolCalls: [{ id: `call-${prompts.length}`, name, input }] })
    if (content.startsWith('How many')) return ask('look_up', { what: content.slice(9, -1) })
    if (content.startsWith('Open')) return ask('stello_create_session', { label: 'Pears', prompt: 'About pears.' })
    return { content: `re: ${content}`, usage: { promptTokens: 10, completionTokens: 2 } }
  }
  const llm: LLMAdapter = {
    maxContextTokens: 100_000,
    complete: async (messages) => answer(messages),
    async *stream(messages) {
      for (const delta of (answer(messages).content ?? '').split(/(?<= )/)) yield { delta }
    },
  }
  return { llm, prompts }
}

const texts = (messages: Message[] = []) => messages.map(({ role, content }) => `${role}: ${content}`)

/** What the school day must come to, as pairs of what was found and what is expected. */
export async function checkSchoolDay(storage: Storage): Promise<Array<[unknown, unknown]>> {
  const { llm, prompts } = model()
  const day = await schoolDay(storage, llm)
  const synthesis = 'Algebra: What is a group?; And a ring?\nPoetry: What is a sonnet?'
  const about = (question: string) => texts(prompts.find((prompt) => prompt.at(-1)?.content === question))
  return [
    [day.first, { content: 're: What is a group?', usage: { promptTokens: 10, completionTokens: 2 } }],
    [day.streamed, ['re: What is a sonnet?', 're: What is a sonnet?']],
    [day.synthesis, synthesis],
    [day.insight, ['Besides Poetry, the student works on Algebra.', null]],
    [day.overview.content, 're: How was the day?'],
    [about('How was the day?'), ['system: You know all lessons of the student.', `system: ${synthesis}`, 'user: How was the day?']],
    [about('Is there one about numbers?')[2], 'system: Besides Poetry, the student works on Algebra.'],
    [about('Is there one about numbers?').slice(3), ['user: What is a sonnet?', 'assistant: re: What is a sonnet?', 'user: Is there one about numbers?']],
    [texts(day.algebra.records), ['user: And a ring?', 'assistant: re: And a ring?']],
    [day.algebra.memory, 'What is a group?; And a ring?'],
    [[day.algebra.meta.label, day.algebra.meta.status, day.algebra.meta.tags, day.algebra.meta.metadata], ['Algebra I', 'archived', ['lesson'], { level: 2 }]],
    [texts(day.homework), ['user: And a ring?', 'assistant: re: And a ring?', 'assistant: Shall we begin?', 'user: Yes', 'assistant: re: Yes']],
    [day.refused, `Session "${day.algebra.meta.id}" is archived and cannot be modified`],
    [[day.reopened, day.gone], [synthesis, null]],
  ]
}

/** The same for the day in the shop. */
export async function checkShopDay(storage: Storage): Promise<Array<[unknown, unknown]>> {
  const { llm, prompts } = model()
  const day = await shopDay(storage, llm)
  const found = '{"what":"apples","count":3,"unit":"pieces"}'
  const [, , , , , sixth = ''] = texts(day.records)
  return [
    [[day.counted.content, day.counted.rounds], [`re: ${found}`, 2]],
    [texts(day.records).slice(0, 4), ['user: How many apples?', 'assistant: ', `tool: ${found}`, `assistant: re: ${found}`]],
    [[day.missing.content, sixth, day.records[6]?.isError], ['re: there are no bananas', 'assistant: ', true]],
    [/^re: \{"sessionId":"[\da-f-]{36}","label":"Pears"\}$/.test(day.branched.content ?? ''), true],
    [texts(day.storeroom).slice(0, 3), ['user: How many apples?', 'user: What was asked first?', 'assistant: re: What was asked first?']],
    [day.told, 2],
    [day.insights, ['Elsewhere: Counter: 12 messages', null]],
    [texts(prompts.at(-1))[2], 'system: Elsewhere: Counter: 12 messages'],
    [day.memory, '3 messages'],
    [day.children, ['Pears', 'Storeroom']],
  ]
}
