import { createRequire, Module } from 'node:module'

const load = createRequire(import.meta.url)

/**
 * The package with the addon of `file` in the place of its own.
 *
 * @param {string} file
 */
export function packageWith(file) {
  const loader = load.resolve('../../src/js/addon.cjs')
  load.cache[loader] = Object.assign(new Module(loader), { loaded: true, exports: load(file) })
  return import('@stello-ai/session')
}
