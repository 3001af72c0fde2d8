// A conversation from beginning to end: npm run demo
import { createSession, InMemoryStorageAdapter } from '@stello-ai/session'
import { startProvider } from './support/provider.mjs'
import { heading, say, showMessages } from './support/terminal.mjs'

const provider = await startProvider()
console.log(`Talking to ${provider.name}`)
try {
  await converse()
} finally {
  await provider.stop()
}

async function converse() {
  const storage = new InMemoryStorageAdapter()
  const session = await createSession({
    storage,
    llm: provider.llm,
    label: 'Kyoto',
    systemPrompt: 'You are a travel companion. Answer in one or two sentences.',
  })

  heading('Answers come in pieces, and the session remembers')
  await say(session, 'Hello! I am Mei, and I am going to Kyoto in April.')
  await say(session, 'Do you still know my name, and where I am going?')

  heading('What the model was sent for that')
  showMessages(provider.received())

  heading('An insight is shown to the model once')
  await session.setInsight('The user loves quiet places and avoids crowds.')
  console.log(`waiting insight: ${await session.insight()}\n`)
  await say(session, 'Where should I go first?')
  showMessages(provider.received().slice(0, -1).filter(({ role }) => role === 'system'))
  console.log(`waiting insight: ${await session.insight()}`)

  heading('A fork inherits the conversation, and goes its own way')
  const food = await session.fork({ label: 'Food in Kyoto', context: 'inherit', prompt: 'Let us talk about food.' })
  await say(food, 'What should I eat?')
  showMessages(provider.received())

  heading(`The history of "${session.meta.label}"`)
  showMessages(await session.messages())
  heading(`The history of "${food.meta.label}"`)
  showMessages(await food.messages())
}
