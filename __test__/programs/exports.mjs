// Tells the names that import and require give, and those that are not the same object in both.
import { createRequire } from 'node:module'
import * as imported from '@stello-ai/session'

const required = createRequire(import.meta.url)('@stello-ai/session')
const entries = Object.entries(imported)
console.log(
  JSON.stringify({
    imported: Object.keys(imported).toSorted(),
    required: Object.keys(required).toSorted(),
    different: entries.filter(([name, value]) => required[name] !== value).map(([name]) => name),
    misnamed: entries.filter(([name, { name: own }]) => own !== name && !/^create(GPT|Claude|.*Adapter)$/.test(name)).map(([name]) => name),
  }),
)
