// @ts-check
'use strict'

// Takes the types out of TypeScript, for jest: CommonJS or an ES module, as jest asks.
const ts = require('typescript')

/** @type {import('@jest/transform').SyncTransformer} */
module.exports = {
  process(source, fileName, { supportsStaticESM }) {
    const module = supportsStaticESM ? ts.ModuleKind.ESNext : ts.ModuleKind.CommonJS
    const { outputText } = ts.transpileModule(source, { fileName, compilerOptions: { module, target: ts.ScriptTarget.ES2022, esModuleInterop: true, inlineSourceMap: true } })
    return { code: outputText }
  },
}
