import type { ChatRequest, OutputFormat, Tool } from '../canonical/chat-request.ts'
import { cannotSay } from '../dialect/field-names.ts'
import { arrayOr, isRecord, recordOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Converts schemas to what Claude enforces: objects are closed, and unsupported keywords move to
 * descriptions. Sources: Anthropic's documentation, "Structured outputs", "JSON Schema limitations"
 * and "Schema complexity limits"; its SDK's `transformJSONSchema`.
 */
export interface ClosedSchema {
  schema: JsonRecord
  /** Number of optional members and of values with several types; their sum is limited. */
  optional: number
  unions: number
}

const STRICT_TOOLS_MAX = 20
const OPTIONAL_MAX = 24
const UNIONS_MAX = 16

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, one) => sum + one, 0)

const isTaken = (schemas: readonly ClosedSchema[]): boolean =>
  sumOf(schemas.map(({ optional }) => optional)) <= OPTIONAL_MAX &&
  sumOf(schemas.map(({ unions }) => unions)) <= UNIONS_MAX

/**
 * Returns the schema of an answer as Claude accepts it. Null if Claude cannot enforce it and the
 * client did not ask for strictness: the schema then goes into the prompt. Throws if the client
 * asked for a strict schema.
 */
export function answerSchema(
  request: ChatRequest,
  { schema, isStrict }: Extract<OutputFormat, { kind: 'schema' }>,
): ClosedSchema | null {
  const closed = closedSchema(schema)
  if (closed !== null && isTaken([closed])) return closed
  if (isStrict !== true) return null
  throw cannotSay(request, 'output')
}

/**
 * Returns the enforced schemas of strict tools; for all other tools the schema is a hint. All
 * strict tools are included or none, so that strictness does not depend on a tool's position.
 */
export function strictSchemas(
  tools: readonly Tool[],
  answer: ClosedSchema | null,
): ReadonlyMap<Tool, JsonRecord> {
  const strict = tools
    .filter(({ isStrict }) => isStrict === true)
    .map((tool) => ({ tool, closed: closedSchema(tool.schema ?? NO_ARGUMENTS) }))
    .flatMap(({ tool, closed }) => (closed === null ? [] : [{ tool, closed }]))
  const all = strict.map(({ closed }) => closed)
  if (strict.length > STRICT_TOOLS_MAX || !isTaken(answer === null ? all : [...all, answer])) {
    return new Map()
  }
  return new Map(strict.map(({ tool, closed }) => [tool, closed.schema]))
}

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false }

/** Null if the schema allows arbitrary members, arbitrary values or recursion. */
function closedSchema(schema: JsonRecord): ClosedSchema | null {
  const closing = new Closing()
  const closed = closing.close(schema)
  if (!closing.isClosed || isRecursive(schema)) return null
  return { schema: closed, optional: closing.optional, unions: closing.unions }
}

const FORMATS: ReadonlySet<unknown> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
)
/** Keywords that constrain nothing. */
const SILENT: ReadonlySet<string> = new Set(['$schema', '$id', '$comment'])
/** Keywords that are allowed beside an `allOf` with a single part. */
const ASIDE: ReadonlySet<string> = new Set(['allOf', 'title', 'description', 'default'])
/** Keywords that are allowed beside a `$ref`. */
const REFERRING: ReadonlySet<string> = new Set(['$ref', '$defs', 'definitions'])
/** Keywords of which one must define the value. */
const SAYING = ['type', 'enum', 'const', 'anyOf', '$ref']

class Closing {
  isClosed = true
  optional = 0
  unions = 0

  close(sent: unknown): JsonRecord {
    if (!isRecord(sent)) return this.open()
    const [only, ...others] = arrayOr(sent.allOf)
    if (only !== undefined && others.length === 0 && isAll(sent, ASIDE)) return this.close(only)
    const out: JsonRecord = {}
    const described: string[] = []
    for (const [name, value] of Object.entries(sent)) {
      const isKnown = this.isKept(out, name, value) || SILENT.has(name)
      if (!isKnown) described.push(`${name}: ${JSON.stringify(value)}`)
    }
    if (!SAYING.some((name) => out[name] !== undefined)) return this.open()
    if (out.$ref !== undefined) {
      return Object.fromEntries(Object.entries(out).filter(([name]) => REFERRING.has(name)))
    }
    if (described.length > 0) {
      const before = typeof out.description === 'string' ? `${out.description}\n\n` : ''
      out.description = `${before}{${described.join(', ')}}`
    }
    return this.withBounds(out, sent)
  }

  private open(): JsonRecord {
    this.isClosed = false
    return {}
  }

  /** Whether Claude supports the keyword, which is then copied to `out`. */
  private isKept(out: JsonRecord, name: string, value: unknown): boolean {
    const kept = this.kept(name, value)
    if (kept === undefined) return false
    out[name === 'oneOf' ? 'anyOf' : name] = kept
    return true
  }

  private kept(name: string, value: unknown): unknown {
    switch (name) {
      case 'type':
      case 'required':
      case 'title':
      case 'description':
      case 'default':
      case '$ref':
        return value
      case 'const':
        return isLiteral(value) ? value : undefined
      case 'enum':
        return Array.isArray(value) && value.every(isLiteral) ? value : undefined
      case 'properties':
      case '$defs':
      case 'definitions':
        return this.closeEach(value)
      case 'items':
        return this.close(value)
      case 'anyOf':
      case 'oneOf':
        return arrayOr(value).map((variant) => this.close(variant))
      // A closed part of `allOf` would forbid the members of the other parts.
      case 'allOf':
      case 'patternProperties':
        return this.open()
      case 'additionalProperties':
        return value === false ? value : this.open()
      case 'format':
        return FORMATS.has(value) ? value : undefined
      case 'minItems':
        return value === 0 || value === 1 ? value : undefined
      default:
        return undefined
    }
  }

  private closeEach(named: unknown): JsonRecord {
    return Object.fromEntries(
      Object.entries(recordOr(named)).map(([name, part]) => [name, this.close(part)]),
    )
  }

  private withBounds(out: JsonRecord, sent: JsonRecord): JsonRecord {
    const { type, properties, ...rest } = out
    // `enum` and `const` already define the type, so the `type` keyword is dropped.
    if (out.enum !== undefined || out.const !== undefined) return rest
    if (Array.isArray(type) || out.anyOf !== undefined) this.unions += 1
    const isObject = type === 'object' || arrayOr(type).includes('object')
    if (!isObject && properties === undefined) return out
    const names = Object.keys(recordOr(properties))
    // A closed object without properties would always be empty.
    if (names.length === 0 && sent.additionalProperties !== false) return this.open()
    const demanded = new Set(arrayOr(out.required))
    this.optional += names.filter((name) => !demanded.has(name)).length
    return { ...out, properties: properties ?? {}, additionalProperties: false }
  }
}

const isLiteral = (value: unknown): boolean => !isRecord(value) && !Array.isArray(value)

const isAll = (record: JsonRecord, names: ReadonlySet<string>): boolean =>
  Object.keys(record).every((name) => names.has(name))

const DEFINED = /^#\/(\$defs|definitions)\/([^/]+)$/

/** Maximum depth, including referenced definitions: protects the stack. */
const LEVELS_MAX = 500

/** Whether a definition refers to itself or to another document, or is too deep to check. */
function isRecursive(root: JsonRecord): boolean {
  const open = new Set<string>()
  const seen = new Set<string>()
  const isFaulty = (part: unknown, level: number): boolean => {
    if (level > LEVELS_MAX) return true
    const isOneFaulty = (inner: unknown): boolean => isFaulty(inner, level + 1)
    if (Array.isArray(part)) return part.some(isOneFaulty)
    if (!isRecord(part)) return false
    const { $ref: ref } = part
    if (typeof ref !== 'string') return Object.values(part).some(isOneFaulty)
    if (open.has(ref)) return true
    if (seen.has(ref)) return false
    const [, place = '', name = ''] = DEFINED.exec(ref) ?? []
    const definition = recordOr(root[place])[name]
    open.add(ref)
    const isBad = definition === undefined || isOneFaulty(definition)
    open.delete(ref)
    seen.add(ref)
    return isBad
  }
  return isFaulty(root, 0)
}
