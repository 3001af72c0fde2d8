// How the examples show a conversation.
import { styleText } from 'node:util'

/** @import { Session } from '@stello-ai/session' */

/** @param {string} text */
export function heading(text) {
  console.log(`\n${paint('bold', text)}\n`)
}

/**
 * Sends a text and prints the answer as it comes.
 *
 * @param {Session} session
 * @param {string} text
 */
export async function say(session, text) {
  console.log(`${paint('cyan', 'user')}       ${text}`)
  await printAnswer(session, text)
}

/**
 * @param {Session} session
 * @param {string} text
 * @param {AbortSignal} [signal]
 */
export async function printAnswer(session, text, signal) {
  process.stdout.write(`${paint('green', 'assistant')}  `)
  try {
    for await (const piece of session.stream(text, { signal })) process.stdout.write(piece)
  } finally {
    process.stdout.write('\n\n')
  }
}

/** @param {{ role: string, content: string }[]} messages */
export function showMessages(messages) {
  for (const { role, content } of messages) {
    console.log(`${paint('dim', role.padEnd(10))} ${content.replaceAll('\n', `\n${' '.repeat(11)}`)}`)
  }
}

/**
 * @param {'bold' | 'cyan' | 'green' | 'dim'} format
 * @param {string} text
 */
function paint(format, text) {
  return process.stdout.isTTY ? styleText(format, text) : text
}
