// The browser of the tests: one that is there, or Debian's.
//
//   node scripts/chromium.mjs   installs it where it is missing and prints its path
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await ensureChromium())

/** @returns {Promise<string>} its path; `CHROMIUM` names one elsewhere */
export async function ensureChromium() {
  const found = process.env.CHROMIUM ?? inPath()
  if (found !== undefined) return found
  console.error('Installing chromium ...')
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    const apt = spawn('apt-get', ['-qq', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
    const failure = await once(apt, 'exit').then(
      ([code]) => (code === 0 ? undefined : `exit code ${code}`),
      (error) => error.message,
    )
    if (failure !== undefined) {
      throw new Error(`the page of examples/server is tested in Chromium, which is missing, and apt-get ${args[0]} failed (${failure}): install it, or set CHROMIUM to its path`)
    }
  }
  const installed = inPath()
  if (installed === undefined) throw new Error(`chromium was installed, but is not in PATH under ${NAMES.join(', ')}: set CHROMIUM to its path`)
  return installed
}

function inPath() {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((path) => existsSync(path))
}
