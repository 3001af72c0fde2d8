// The main package, those of the platforms, the crate and the workflows say the same.
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { makePackages } from '../../scripts/package.mjs'
import { publish } from '../../scripts/publish.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Manifest {
  name: string
  version: string
  license: string
  engines: Record<string, string>
  main: string
  files: string[]
  scripts: Record<string, string>
  napi: { binaryName: string; targets: string[] }
  optionalDependencies: Record<string, string>
  peerDependencies: Record<string, string>
}
const manifest = JSON.parse(read('package.json')) as Manifest
const platforms = readdirSync(join(root, 'npm'))

/** What napi and npm call the parts of a target. */
const ABI: Record<string, string | undefined> = { gnu: 'glibc', musl: 'musl' }
const CPU: Record<string, string | undefined> = { x86_64: 'x64', aarch64: 'arm64' }
const OS: Record<string, string | undefined> = { linux: 'linux', darwin: 'darwin', windows: 'win32' }

const targets = manifest.napi.targets.map((target) => {
  const [arch = '', , system = '', abi] = target.split('-')
  const [os, cpu] = [OS[system], CPU[arch]]
  return { target, os, cpu, libc: abi === undefined ? undefined : ABI[abi], platform: [os, cpu, abi].filter((part) => part !== undefined).join('-') }
})

describe('the packages of the platforms', () => {
  it('are those of the targets, no more and no fewer', () => {
    expect(platforms.toSorted()).toEqual(targets.map(({ platform }) => platform).toSorted())
  })

  it.each(targets)('that of $target agrees with the main package', ({ platform, target, os, cpu, libc }) => {
    const { version, license, engines, napi } = manifest
    const file = `${napi.binaryName}.${platform}.node`
    expect(JSON.parse(read(`npm/${platform}/package.json`))).toEqual({
      name: `${manifest.name}-${platform}`,
      version,
      description: `The native addon of ${manifest.name} for ${target}`,
      license,
      engines,
      os: [os],
      cpu: [cpu],
      ...(libc === undefined ? {} : { libc: [libc] }),
      main: file,
      files: [file, 'THIRD-PARTY-LICENSES'],
      publishConfig: { access: 'public' },
    })
    expect(read(`npm/${platform}/README.md`)).toContain(target)
  })

  it.each(targets)('that of $target is one that the loader looks for', ({ platform }) => {
    expect(read('src/js/addon.cjs')).toContain(`case '${platform}':\n        return require('${manifest.name}-${platform}')`)
  })
})

it('has one version, in the crate too', () => {
  expect(/^version = "(.*)"/m.exec(read('Cargo.toml'))?.[1]).toBe(manifest.version)
  for (const lock of ['Cargo.lock', 'fuzz/Cargo.lock']) expect(/^name = "stello-session"\nversion = "(.*)"/m.exec(read(lock))?.[1], lock).toBe(manifest.version)
})

it.each(['deny.toml', 'about.toml'])('%s looks at the same targets', (file) => {
  const list = /^targets = \[([^\]]*)\]/m.exec(read(file))?.[1] ?? ''
  expect([...list.matchAll(/"([^"]+)"/g)].map(([, target]) => target)).toEqual(manifest.napi.targets)
})

describe('what is published', () => {
  const out = mkdtempSync(join(tmpdir(), 'stello-packages-'))
  const packages = makePackages({ out })
  const main = packages.at(-1)
  const published = JSON.parse(readFileSync(join(main?.folder ?? '', 'package.json'), 'utf8')) as Partial<Manifest>
  const files = readdirSync(main?.folder ?? '', { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/'))
  afterAll(() => rmSync(out, { recursive: true }))

  it('depends on nothing but its addon, in the very version', () => {
    expect(published).not.toHaveProperty('dependencies')
    expect(published).not.toHaveProperty('devDependencies')
    expect(published.optionalDependencies).toEqual(Object.fromEntries(platforms.map((platform) => [`${manifest.name}-${platform}`, manifest.version])))
    expect(Object.keys(published.peerDependencies ?? {})).toEqual(['zod', 'zod-to-json-schema'])
  })

  it('runs nothing when it is installed', () => {
    for (const { folder } of packages) expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).not.toHaveProperty('scripts')
    expect(files).not.toContain('binding.gyp')
  })

  it('holds no addon in the main package, and no sources or tests', () => {
    expect(files.filter((file) => /\.(node|rs|toml|spec\.ts)$|^(__test__|bench|examples|scripts|npm|target)(\/|$)/.test(file))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'README.zh-CN.md', 'CHANGELOG.md', 'index.d.ts', 'src/js/index.cjs', 'src/js/index.mjs']))
  })

  it('holds the addon, its licence and those of others in the package of the platform', () => {
    expect(packages.length).toBeGreaterThan(1)
    for (const { name, folder } of packages.slice(0, -1)) {
      const platform = name.slice(`${manifest.name}-`.length)
      expect(readdirSync(folder).toSorted()).toEqual(['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES', 'package.json', `stello-session.${platform}.node`])
    }
  })

  it('asks for the addons of all platforms in a release', () => {
    expect(() => makePackages({ all: true, out: join(out, 'all') })).toThrow(/^Not in place: src\/js\/stello-session\./)
  })
})

describe('publishing', () => {
  const packages = [
    { name: 'platform', tarball: 'platform.tgz' },
    { name: 'main', tarball: 'main.tgz' },
  ]
  /** What npm is asked to publish where some is published already, and looking for the rest fails. */
  function published(version: string, already: string[] = []) {
    const told: string[][] = []
    publish(`v${version}`, version, packages, (args) => {
      const [command, what = ''] = args
      if (command === 'publish') told.push(args)
      else if (!already.includes(what)) throw new Error('E404')
      return version
    })
    return told
  }

  it('goes through the packages in their order, with provenance', () => {
    const flags = ['--access', 'public', '--provenance', '--tag', 'latest']
    expect(published('1.2.3')).toEqual([
      ['publish', 'platform.tgz', ...flags],
      ['publish', 'main.tgz', ...flags],
    ])
  })

  it('goes on where it broke off', () => {
    expect(published('1.2.3', ['platform@1.2.3']).map(([, tarball]) => tarball)).toEqual(['main.tgz'])
  })

  it('keeps a version that is not final from being what npm installs by itself', () => {
    expect(published('1.2.3-rc.1')[0]?.slice(-2)).toEqual(['--tag', 'next'])
  })

  it('refuses a tag of another version', () => {
    expect(() => publish('v1.2.4', '1.2.3', packages, () => '')).toThrow('The tag is v1.2.4, the version in package.json 1.2.3')
  })
})

describe.each(readdirSync(join(root, '.github', 'workflows')))('the workflow %s', (file) => {
  const text = read(`.github/workflows/${file}`).replaceAll(/^\s*#.*$/gm, '')

  it('runs what is there', () => {
    const commands = [...text.matchAll(/npm run ([\w:]+)|(?:node|vitest run|- run:) ((?:scripts|__test__|\.ci)\/[\w./-]+)|uses: \.\/(\S+)/g)]
    expect(commands.length).toBeGreaterThan(0)
    for (const [command, script, path, workflow] of commands) {
      expect(script === undefined ? existsSync(join(root, path ?? workflow ?? '')) : script in manifest.scripts, command).toBe(true)
    }
  })

  it('names only targets that there are, and all of them where it names any', () => {
    const named = new Set([...text.matchAll(/\b(?:x86_64|aarch64)-[a-z]+-[a-z]+(?:-[a-z]+)?\b/g)].map(([target]) => target))
    expect([[], manifest.napi.targets.toSorted()]).toContainEqual([...named].toSorted())
  })
})
