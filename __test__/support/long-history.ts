import type { LLMCompleteOptions, LLMResult, MainStorage, Message, ToolCall } from '@stello-ai/session'

/** About a hundred tokens of English that names itself. */
export const paragraph = (name: string, sentences = 4) =>
  `[${name}] ${'The committee asked for a breakdown by region before its next meeting; several members doubted the costs. '.repeat(sentences)}`

/** What the messages call themselves. */
export const names = (messages: Message[]) => messages.map(({ content }) => /^\[(\w+)\]/.exec(content)?.[1] ?? content)

export const user = (name: string, sentences?: number): Message => ({ role: 'user', content: paragraph(name, sentences) })
export const assistant = (name: string, sentences?: number): Message => ({ role: 'assistant', content: paragraph(name, sentences) })
export const calling = (name: string, toolCalls: ToolCall[]): Message => ({ role: 'assistant', content: paragraph(name), toolCalls })
export const answering = (name: string, toolCallId: string, sentences?: number): Message => ({ role: 'tool', content: paragraph(name, sentences), toolCallId })

/** `count` pairs of question and answer, named `u0`, `a0`, `u1`, … */
export const pairs = (count: number, sentences?: number) => Array.from({ length: count }, (_, n) => [user(`u${n}`, sentences), assistant(`a${n}`, sentences)]).flat()

export async function store(storage: MainStorage, id: string, records: Message[]) {
  for (const record of records) await storage.appendRecord(id, record)
}

/** A compressor that remembers what it was given, and numbers its summaries. */
export function recordingCompressor(summary: (call: number, messages: Message[]) => unknown = (call) => `SUMMARY ${call}`) {
  const inputs: Message[][] = []
  const signals: Array<AbortSignal | undefined> = []
  const compressFn = async (messages: Message[], options?: { signal?: AbortSignal }) => {
    inputs.push(structuredClone(messages))
    signals.push(options?.signal)
    return (await summary(inputs.length, messages)) as string
  }
  return { compressFn, inputs, signals }
}

/**
 * A stand-in for a provider's tokeniser: a token for each word or six letters of one, three digits, two signs, two wide
 * characters. It counts somewhat less than the package estimates, as real ones do.
 */
export function countTokens(text: string) {
  const tokens = text.match(/[a-zA-Z]{1,6}|\d{1,3}|[\u3040-\u9fff\uac00-\ud7af]{1,2}|[^\sa-zA-Z\d\u3040-\u9fff\uac00-\ud7af]{1,2}/g)
  return tokens?.length ?? 0
}

/** The tokens of a whole prompt, tool calls included. */
export const promptTokens = (messages: Message[]) =>
  messages.reduce((sum, { content, toolCalls = [] }) => sum + 4 + countTokens(content) + (toolCalls.length === 0 ? 0 : countTokens(JSON.stringify(toolCalls))), 0)

/** An answer that calls itself after the question. */
export const reply = (messages: Message[], _options?: LLMCompleteOptions): LLMResult => ({
  content: paragraph(names(messages).at(-1)?.replace(/^u/, 'a') ?? 'a'),
})
