import type { LLMAdapter, LLMCompleteOptions, LLMResult, Message } from '@stello-ai/session'

export interface RecordingAdapter extends LLMAdapter {
  /** The messages of every call. */
  prompts: Message[][]
  options: Array<LLMCompleteOptions | undefined>
}

type Answer = (messages: Message[], options?: LLMCompleteOptions) => LLMResult | Promise<LLMResult>

/** An adapter that remembers what it was called with and answers as told. */
export function recording(answer: Answer = (messages) => ({ content: `answer ${messages.length}` }), maxContextTokens = 128_000): RecordingAdapter {
  const adapter: RecordingAdapter = {
    prompts: [],
    options: [],
    maxContextTokens,
    async complete(messages, options) {
      adapter.prompts.push(structuredClone(messages))
      adapter.options.push(options)
      return answer(messages, options)
    },
  }
  return adapter
}

/** A promise and the functions that settle it. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
