// Programs that run in processes of their own, and the provider that they talk to.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Runs a program of this folder to its own end, and answers the last line it printed, as JSON. */
export async function run<T>(name: string, options: object): Promise<T> {
  const child = spawn(process.execPath, [file(name), JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, complaint] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  const [code, signal] = await once(child, 'close')
  if (code !== 0) throw new Error(`${name} ${JSON.stringify(options)} ended with ${code ?? signal}:\n${complaint}${output}`)
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as T
}

/** Starts the provider; it ends with this process at the latest. */
export async function startProvider(options: { seed: number; latencyMs?: number; faults?: number }) {
  const child = spawn(process.execPath, [file('provider.mjs'), JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  return {
    url,
    async stop() {
      child.stdin.end()
      await once(child, 'close')
    },
  }
}
