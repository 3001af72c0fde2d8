import { cpSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makePackages } from '../../scripts/package.mjs'
import { runNpm } from '../../scripts/npm.mjs'

/** An empty folder with the packages as they are published, installed by npm without a registry, and the programs of `app/`. */
export function installPackages() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'stello-installed-')))
  const app = join(folder, 'app')
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{}\n')
  const packages = makePackages({ out: join(folder, 'packed') })
  runNpm(['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', ...packages.map(({ tarball }) => tarball)], { cwd: app })
  cpSync(fileURLToPath(new URL('app', import.meta.url)), app, { recursive: true })
  return { folder, app, packages }
}
