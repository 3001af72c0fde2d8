// An application with a main session: every lesson is a session of its own, and the main session looks over all of them.
// What one session has learnt reaches the others only as memory, synthesis and insight.
import { createMainSession, createSession, loadMainSession, loadSession, SessionArchivedError } from '@stello-ai/session'
import type { ConsolidateFn, IntegrateFn, LLMAdapter, MainSession, MainStorage, Session } from '@stello-ai/session'

/** Sums a lesson up for the outside: what was asked, after what is known already. */
const consolidateLesson: ConsolidateFn = async (currentMemory, messages) => {
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  return [...(currentMemory === null ? [] : [currentMemory]), ...asked].join('; ')
}

/** Tells every lesson about the others. */
const integrateLessons: IntegrateFn = async (children, currentSynthesis) => ({
  synthesis: `${currentSynthesis === null ? '' : `${currentSynthesis}\n`}${children.map(({ label, l2 }) => `${label}: ${l2}`).join('\n')}`,
  insights: children.map(({ sessionId, label }) => {
    const others = children.filter((child) => child.sessionId !== sessionId)
    return { sessionId, content: `Besides ${label}, the student works on ${others.map((other) => other.label).join(', ')}.` }
  }),
})

export class School {
  private constructor(
    private readonly storage: MainStorage,
    private readonly llm: LLMAdapter,
    readonly main: MainSession,
  ) {}

  static async open(storage: MainStorage, llm: LLMAdapter): Promise<School> {
    const main = await createMainSession({ storage, llm, label: 'School', systemPrompt: 'You know all lessons of the student.' })
    return new School(storage, llm, main)
  }

  /** Goes on where another process left off. */
  static async reopen(id: string, storage: MainStorage, llm: LLMAdapter): Promise<School | null> {
    const main = await loadMainSession(id, { storage, llm })
    return main === null ? null : new School(storage, llm, main)
  }

  lesson(label: string): Promise<Session> {
    return createSession({ storage: this.storage, llm: this.llm, label, systemPrompt: `You teach ${label}.`, tags: ['lesson'], metadata: { level: 1 } })
  }

  /** Ends a day: every lesson is summed up and shortened, then the main session takes all of it in. */
  async endDay(): Promise<string> {
    for (const { id } of await this.storage.listSessions({ role: 'standard', status: 'active' })) {
      const lesson = await loadSession(id, { storage: this.storage, llm: this.llm })
      await lesson?.consolidate(consolidateLesson)
      await lesson?.trimRecords(2)
    }
    const { synthesis } = await this.main.integrate(integrateLessons)
    return synthesis
  }
}

/** A school day from morning to evening; returns what was said and what is left. */
export async function schoolDay(storage: MainStorage, llm: LLMAdapter) {
  const school = await School.open(storage, llm)
  const algebra = await school.lesson('Algebra')
  const poetry = await school.lesson('Poetry')

  const first = await algebra.send('What is a group?')
  await algebra.send('And a ring?')
  let streamed = ''
  const stream = poetry.stream('What is a sonnet?')
  for await (const piece of stream) streamed += piece
  const { content } = await stream.result

  const synthesis = await school.endDay()
  const insight = await poetry.insight()
  await poetry.send('Is there one about numbers?')
  const overview = await school.main.send('How was the day?')

  const homework = await algebra.fork({ label: 'Homework', context: 'inherit', prompt: 'Shall we begin?', tags: ['homework'] })
  await homework.send('Yes')

  await algebra.updateMeta({ label: 'Algebra I', metadata: { level: 2 } })
  await algebra.archive()
  const refused = await algebra.send('One more?').catch((error: unknown) => (error instanceof SessionArchivedError ? error.message : String(error)))

  const again = await School.reopen(school.main.meta.id, storage, llm)
  return {
    first,
    streamed: [streamed, content],
    synthesis,
    insight: [insight, await poetry.insight()],
    overview,
    algebra: { meta: algebra.meta, records: await algebra.messages(), memory: await algebra.memory() },
    homework: await homework.messages(),
    refused,
    reopened: await again?.main.synthesis(),
    gone: await School.reopen('nobody', storage, llm),
  }
}
