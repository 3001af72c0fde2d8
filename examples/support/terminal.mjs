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
  const stopWaiting = showWaiting(process.stdout)
  try {
    for await (const piece of session.stream(text, { signal })) {
      stopWaiting()
      process.stdout.write(piece)
    }
  } finally {
    stopWaiting()
    process.stdout.write('\n\n')
  }
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/**
 * Shows on a terminal that something is waited for, and for how long; the function that it returns takes it away.
 *
 * @param {{ isTTY?: boolean, write(text: string): unknown }} out
 * @returns {() => void}
 */
export function showWaiting(out) {
  if (out.isTTY !== true) return () => {}
  const began = Date.now()
  let frame = 0
  let shown = ''
  const erase = () => '\b \b'.repeat(shown.length)
  const show = () => {
    const next = `${FRAMES[frame++ % FRAMES.length]} ${Math.floor((Date.now() - began) / 1000)} s`
    out.write(`${erase()}${next}`)
    shown = next
  }
  show()
  const timer = setInterval(show, 100)
  return () => {
    clearInterval(timer)
    if (shown !== '') out.write(erase())
    shown = ''
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
