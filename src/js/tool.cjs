// @ts-check
'use strict'

// Tools with zod schemas. The only file that knows zod, which is the application's own copy, of version 3 or 4, loaded
// when a tool is first made.

const { createRequire } = require('node:module')
const { join } = require('node:path')
const check = require('./check.cjs')

/** @import { CallToolResult, ForkOptions, MainSession, Session, Tool, ToolAnnotations, ToolShape, ToolSpec } from '../../index.js' */

/**
 * What is used of zod, whatever its version.
 *
 * @typedef {object} Zod
 * @property {(shape: object) => ZodSchema} object
 * @property {() => ZodSchema} string
 * @property {(schema: unknown, options: object) => Record<string, unknown>} toJSONSchema only in version 4
 * @property {{ get(schema: unknown): object | undefined }} globalRegistry only in version 4
 */

/**
 * @typedef {object} ZodSchema
 * @property {unknown} [_zod] only in version 4
 * @property {{ typeName?: unknown }} [_def]
 * @property {() => ZodSchema} optional
 * @property {(description: string) => ZodSchema} describe
 * @property {(data: unknown) => unknown} parse
 * @property {() => object | undefined} [meta] only in version 4
 */

/** @typedef {3 | 4} ZodVersion */

/** @type {Map<ZodVersion, Zod>} */
const loaded = new Map()

/**
 * @template {ToolShape} S
 * @param {string} name
 * @param {string} description
 * @param {S} inputSchema
 * @param {(input: import('../../index.js').ToolInput<S>) => Promise<CallToolResult>} execute
 * @param {{ annotations?: ToolAnnotations | undefined }} [extras]
 * @returns {Tool<S>}
 */
function tool(name, description, inputSchema, execute, extras) {
  checkText('name', name)
  checkText('description', description)
  if (typeof execute !== 'function') throw wrongType('execute', 'a function', execute)
  if (extras !== undefined && !isObject(extras)) throw wrongType('extras', 'an object', extras)
  const annotations = extras?.annotations
  if (annotations !== undefined && !isObject(annotations)) throw wrongType('extras.annotations', 'an object', annotations)
  const version = shapeVersion(inputSchema)
  const zod = version === undefined ? loadAnyZod() : loadZod(version)
  const made = { name, description, inputSchema: zod.object(inputSchema), execute, annotations }
  return /** @type {Tool<S>} */ (/** @type {unknown} */ (made))
}

/**
 * The tool by which a model makes a session of its own.
 *
 * @param {() => Session | MainSession} getParent
 * @param {(parent: Session | MainSession, options: ForkOptions) => Promise<Session>} fork forks a parent, with a
 * topology node where its storage keeps them
 * @returns {Tool}
 */
function createSessionTool(getParent, fork) {
  if (typeof getParent !== 'function') throw wrongType('getParent', 'a function', getParent)
  const zod = loadAnyZod()
  const label = zod.string().describe('A short name for the new session')
  const systemPrompt = zod.string().describe('What the new session is for and how it should behave; by default as in this one').optional()
  const prompt = zod.string().describe('The opening message of the new session').optional()
  const shape = /** @type {ToolShape} */ (/** @type {unknown} */ ({ label, systemPrompt, prompt }))
  /** @type {Tool} */
  const made = tool(
    'stello_create_session',
    'Create a new session, branching off from this conversation, for a topic that deserves one of its own',
    shape,
    async (input) => {
      const options = /** @type {ForkOptions} */ (/** @type {unknown} */ (schema.parse(input)))
      const { meta } = await fork(getParent(), options)
      return { output: { sessionId: meta.id, label: meta.label } }
    },
    { annotations: { readOnlyHint: false } },
  )
  const schema = /** @type {ZodSchema} */ (/** @type {unknown} */ (made.inputSchema))
  return made
}

/**
 * The tools as adapters are told of them: zod schemas become JSON Schema, others are handed on as the same objects.
 *
 * @param {unknown} tools
 * @param {string} [path] what the argument is called in errors
 * @returns {ToolSpec[] | undefined}
 */
function toolSpecs(tools, path = 'options.tools') {
  if (tools === undefined) return undefined
  if (!check.isArray(tools)) throw wrongType(path, 'an array', tools)
  // Array.from, as `map` would skip holes.
  return Array.from(tools, (given, index) => toolSpec(given, `${path}[${index}]`))
}

/**
 * @param {unknown} given
 * @param {string} path
 * @returns {ToolSpec}
 */
function toolSpec(given, path) {
  if (!isObject(given)) throw wrongType(path, 'an object { name, description, inputSchema }', given)
  const { name, description, inputSchema } = given
  checkText(`${path}.name`, name)
  checkText(`${path}.description`, description)
  if (!isObject(inputSchema)) throw wrongType(`${path}.inputSchema`, 'a JSON Schema object or a zod object', inputSchema)
  const version = schemaVersion(inputSchema)
  if (version === undefined) return /** @type {ToolSpec} */ (/** @type {unknown} */ (given))
  const schema = version === 4 ? jsonSchemaOfZod4(inputSchema) : jsonSchemaOfZod3(inputSchema)
  // A tool's arguments are always an object, and providers refuse a schema that says otherwise.
  if (schema.type !== 'object') throw new TypeError(`${path}.inputSchema must be an object schema, got one of ${schema.type ?? 'a union'}`)
  return { name: /** @type {string} */ (name), description: /** @type {string} */ (description), inputSchema: schema }
}

/**
 * @param {object} schema
 * @returns {Record<string, unknown>}
 */
function jsonSchemaOfZod4(schema) {
  const zod = loadZod(4)
  // Early versions keep descriptions in a registry of their own copy of zod, which an ES module does not share with
  // `require`; the schema itself knows its own.
  const metadata = {
    /** @param {ZodSchema} part */
    get: (part) => (typeof part.meta === 'function' ? part.meta() : zod.globalRegistry.get(part)),
  }
  // What the model writes is the schema's input: a field with a default may be left out.
  return withoutDialect(zod.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', metadata }))
}

/**
 * @param {object} schema
 * @returns {Record<string, unknown>}
 */
function jsonSchemaOfZod3(schema) {
  const found = load((from) => from('zod-to-json-schema'))
  if (!isObject(found) || typeof found.zodToJsonSchema !== 'function') {
    throw new Error("describing a tool of zod 3 to a model needs the package 'zod-to-json-schema': npm install zod-to-json-schema")
  }
  return withoutDialect(found.zodToJsonSchema(schema))
}

/**
 * Providers take the schema of a tool without `$schema`, and some refuse the key.
 *
 * @param {Record<string, unknown>} schema
 */
function withoutDialect({ $schema: _, ...schema }) {
  return schema
}

/**
 * The version of zod that a shape's fields come from; `undefined` for an empty shape.
 *
 * @param {unknown} shape
 * @returns {ZodVersion | undefined}
 */
function shapeVersion(shape) {
  const expected = 'a zod shape, such as { query: z.string() }'
  if (!isObject(shape)) throw wrongType('inputSchema', expected, shape)
  if (schemaVersion(shape) !== undefined) throw new TypeError(`inputSchema must be ${expected}, got a zod schema: give the shape of z.object(shape), or schema.shape`)
  /** @type {ZodVersion | undefined} */
  let common
  for (const [key, field] of Object.entries(shape)) {
    const version = isObject(field) ? schemaVersion(field) : undefined
    if (version === undefined) throw wrongType(`inputSchema.${key}`, 'a zod schema', field)
    if (common !== undefined && version !== common) {
      throw new TypeError(`inputSchema.${key} is of zod ${version}, those before it are of zod ${common}: use one version`)
    }
    common = version
  }
  return common
}

/**
 * @param {object} schema
 * @returns {ZodVersion | undefined}
 */
function schemaVersion(schema) {
  const { _zod, _def } = /** @type {Partial<ZodSchema>} */ (schema)
  if (isObject(_zod)) return 4
  return isObject(_def) && typeof _def.typeName === 'string' ? 3 : undefined
}

/**
 * The main entry of `zod` is version 3 or 4; since 3.25 it has the other one under a path of its own.
 *
 * @param {ZodVersion} version
 * @returns {Zod}
 */
function loadZod(version) {
  const known = loaded.get(version)
  if (known !== undefined) return known
  /** @param {() => unknown} get */
  const ofVersion = (get) => {
    const zod = attempt(get)
    return isZod(zod) && schemaVersion(zod.string()) === version ? zod : undefined
  }
  const found =
    version === 4
      ? load((from) => ofVersion(() => from('zod')) ?? ofVersion(() => from('zod/v4')))
      : load((from) => ofVersion(() => from('zod')) ?? ofVersion(() => from('zod/v3')))
  if (found === undefined) throw new Error(`a tool of zod ${version} needs that version of the package 'zod': npm install zod@${version}`)
  loaded.set(version, found)
  return found
}

/** @returns {Zod} */
function loadAnyZod() {
  const found = load((from) => from('zod'))
  if (!isZod(found)) throw new Error("making a tool needs the package 'zod': npm install zod")
  return found
}

/**
 * As this package sees the application's packages, which is what a peer dependency promises; else, where this package
 * is linked in from elsewhere, as the application's main file and folder see them.
 *
 * @template T
 * @param {(from: (id: string) => unknown) => T} pick
 * @returns {T | undefined}
 */
function load(pick) {
  const own = attempt(() => pick(fromHere))
  if (own !== undefined) return own
  for (const place of [process.argv[1], join(process.cwd(), 'package.json')]) {
    if (place === undefined) continue
    const found = attempt(() => pick(createRequire(place)))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Literal calls, so that a bundler finds them, and within `try`, so that it puts up with those that are not there.
 *
 * @param {string} id
 * @returns {unknown}
 */
function fromHere(id) {
  try {
    switch (id) {
      case 'zod':
        return require('zod')
      case 'zod/v3':
        return require('zod/v3')
      case 'zod/v4':
        return require('zod/v4')
      default:
        return require('zod-to-json-schema')
    }
  } catch (error) {
    if (isAbsence(error)) return undefined
    throw error
  }
}

/**
 * `undefined` where a package is not installed or has no such path; other failures are not hidden.
 *
 * @template T
 * @param {() => T} get
 * @returns {T | undefined}
 */
function attempt(get) {
  try {
    return get()
  } catch (error) {
    if (isAbsence(error)) return undefined
    throw error
  }
}

/** @param {unknown} error */
function isAbsence(error) {
  const code = isObject(error) ? error.code : undefined
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED' || code === 'ERR_INVALID_ARG_VALUE'
}

/**
 * @param {unknown} value
 * @returns {value is Zod}
 */
function isZod(value) {
  return isObject(value) && typeof value.object === 'function' && typeof value.string === 'function'
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isObject(value) {
  return check.isObject(value)
}

/**
 * @param {string} path
 * @param {unknown} value
 */
function checkText(path, value) {
  if (typeof value !== 'string') throw wrongType(path, 'a string', value)
}

/**
 * @param {string} path
 * @param {string} expected
 * @param {unknown} value
 */
function wrongType(path, expected, value) {
  const got = value === null ? 'null' : check.isArray(value) ? 'an array' : typeof value === 'object' && !isObject(value) ? 'a revoked Proxy' : typeof value
  return new TypeError(`${path} must be ${expected}, got ${got}`)
}

module.exports = { tool, createSessionTool, toolSpecs }
