// Runs npm: the one that runs this script, where one does.
import { spawnSync } from 'node:child_process'

/**
 * What npm printed. Its messages go to stderr; throws where it fails.
 *
 * @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv }} options
 */
export function runNpm(args, { cwd, env = process.env }) {
  const script = process.env.npm_execpath
  const [command, ...first] = script !== undefined && /\.c?js$/.test(script) ? [process.execPath, script] : ['npm']
  const { status, error, stdout } = spawnSync(command, [...first, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: command === 'npm' && process.platform === 'win32',
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`npm ${args[0]} in ${cwd} failed with exit code ${status}.`)
  return stdout
}
