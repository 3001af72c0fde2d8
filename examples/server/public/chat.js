// The page: shows the conversation that the address names, and streams new answers into it.
const [messages, form, text, send, stop] = ['messages', 'form', 'text', 'send', 'stop'].map((id) => document.getElementById(id))

/** Ends the turn that is under way. */
let turn = new AbortController()

// The conversation is in the address, so that a reload goes on with it.
if (location.hash === '') location.replace(`#${crypto.randomUUID()}`)
const url = `conversations/${location.hash.slice(1)}`

for (const { role, content } of await (await fetch(url)).json()) show(role, content)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  void hold(text.value)
  text.value = ''
})
stop.addEventListener('click', () => turn.abort())
document.body.dataset.ready = ''

function show(role, content) {
  const item = document.createElement('li')
  item.className = role
  item.textContent = content
  messages.append(item)
  return item
}

async function hold(content) {
  const question = show('user', content)
  const answer = show('assistant', '')
  turn = new AbortController()
  setRunning(true)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: content }),
      signal: turn.signal,
    })
    for await (const line of lines(response)) {
      if (line.error !== undefined) throw new Error(line.error)
      if (line.piece !== undefined) answer.textContent += line.piece
    }
    answer.dataset.done = ''
  } catch (error) {
    // Nothing of a stopped or failed turn is stored: take it off the page, and let the text be sent again.
    question.remove()
    answer.className = 'failed'
    answer.textContent += turn.signal.aborted ? ' (stopped)' : ` (${error.message})`
    text.value = content
  } finally {
    setRunning(false)
  }
}

function setRunning(isRunning) {
  send.disabled = isRunning
  stop.disabled = !isRunning
}

async function* lines(response) {
  let rest = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const whole = (rest + value).split('\n')
    rest = whole.pop()
    for (const line of whole) yield JSON.parse(line)
  }
}
