import { createGPT, createSession, SqliteStorageAdapter, StorageError, type SendResult, type Session, type SessionStorage } from '@stello-ai/session'
import { storageConformance } from '@stello-ai/session/conformance'

const storage: SessionStorage & { close(): void } = new SqliteStorageAdapter({ path: ':memory:' })
const llm = createGPT({ model: 'gpt-4o-mini' })

async function main() {
  const session: Session = await createSession({ storage, llm, label: 'typed' })
  const { content }: SendResult = await session.send('hello')
  const answer = session.stream('are you there?')
  let streamed = ''
  for await (const piece of answer) streamed += piece
  const { finishReason } = await answer.result
  storage.close()
  const refused: unknown = await session.send('too late').catch((error: unknown) => error)
  console.log(JSON.stringify({ content, streamed, finishReason, refused: refused instanceof StorageError && refused.code, suite: typeof storageConformance }))
}

void main()
