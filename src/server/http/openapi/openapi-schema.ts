import { z } from 'zod'
import { NEEDED } from '../../../contract/wire.ts'
import type { JsonSchema } from './openapi-example.ts'

/** Converts the contract's shapes to schemas of the API description. */
export interface Schemas {
  /** Returns the schema of a shape for input or output, or a reference if it has a name. */
  of(shape: z.ZodType, io: 'input' | 'output'): JsonSchema
  /** Registers a schema under a name. Returns the reference to it. */
  name(name: string, schema: JsonSchema): JsonSchema
  /** All named schemas. */
  named: Record<string, JsonSchema>
}

export function createSchemas(): Schemas {
  const named: Record<string, JsonSchema> = {}

  function name(wanted: string, schema: JsonSchema): JsonSchema {
    const known = named[wanted]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two schemas are named ${wanted}`)
    }
    named[wanted] = schema
    return { $ref: `#/components/schemas/${wanted}` }
  }

  return {
    named,
    name,
    of(shape, io) {
      const json = z.toJSONSchema(shape, { io, unrepresentable: 'any' })
      const { $schema: _, $defs = {}, ...schema } = json
      for (const [found, definition] of Object.entries($defs)) {
        name(found, written({ ...definition }))
      }
      return written(schema)
    },
  }
}

/** Places of subschemas, as lists or single objects; everything else in a schema is plain data. */
const LISTS = ['anyOf', 'oneOf', 'allOf'] as const
const SINGLE = ['items', 'additionalProperties', 'propertyNames'] as const

/** Adapts a schema for code generators. */
function written(schema: JsonSchema): JsonSchema {
  const all = { ...schema }
  for (const place of LISTS) if (Array.isArray(all[place])) all[place] = all[place].map(writtenAt)
  for (const place of SINGLE) if (isSchema(all[place])) all[place] = writtenAt(all[place])
  if (isSchema(all['properties'])) {
    const members = Object.entries(all['properties'])
    all['properties'] = Object.fromEntries(
      members.map(([member, value]) => [member, writtenAt(value)]),
    )
  }
  return [withExample, withPlainNull, withReference, withNeeded, withFormat, openToMore].reduce(
    (now, change) => change(now),
    all,
  )
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const writtenAt = (value: unknown): JsonSchema => written(isSchema(value) ? value : {})

/** The standard requires a list. */
const withExample = ({ example, ...schema }: JsonSchema): JsonSchema =>
  example === undefined ? schema : { ...schema, examples: [example] }

const withReference = (schema: JsonSchema): JsonSchema =>
  typeof schema['$ref'] === 'string'
    ? { ...schema, $ref: schema['$ref'].replace('#/$defs/', '#/components/schemas/') }
    : schema

/**
 * Writes "type or null" as a list of types if possible, because fewer generators support unions.
 */
function withPlainNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [plain, nothing] = anyOf.map((branch) => (isSchema(branch) ? branch : {}))
  if (nothing?.['type'] !== 'null' || typeof plain?.['type'] !== 'string') return schema
  const { type, enum: names } = plain
  const union = { ...plain, ...rest, type: [type, 'null'] }
  return Array.isArray(names) ? { ...union, enum: [...names, null] } : union
}

/** Marks the members that a call requires, and removes null from their types. */
function withNeeded(schema: JsonSchema): JsonSchema {
  if (!isSchema(schema['properties'])) return schema
  const members = Object.entries(schema['properties']).map(
    ([member, value]) => [member, isSchema(value) ? value : {}] as const,
  )
  const needed = members.filter(([, value]) => value[NEEDED] === true).map(([member]) => member)
  if (needed.length === 0) return schema
  const known = [schema['required'] ?? []].flat().map(String)
  return {
    ...schema,
    properties: Object.fromEntries(
      members.map(([member, value]) => [
        member,
        value[NEEDED] === true ? withoutNull(value) : value,
      ]),
    ),
    required: members
      .map(([member]) => member)
      .filter((member) => known.includes(member) || needed.includes(member)),
  }
}

function withoutNull(schema: JsonSchema): JsonSchema {
  const { [NEEDED]: _needed, enum: names, ...rest } = schema
  const types = typesOf(schema).filter((type) => type !== 'null')
  return {
    ...rest,
    type: types.length === 1 ? types[0] : types,
    ...(Array.isArray(names) ? { enum: names.filter((value) => value !== null) } : {}),
  }
}

const typesOf = (schema: JsonSchema): unknown[] => [schema['type'] ?? []].flat()

/** States the width of numbers; otherwise generated clients round points to 24 or 32 bits. */
function withFormat(schema: JsonSchema): JsonSchema {
  const types = typesOf(schema)
  if (types.includes('number')) return { ...schema, format: 'double' }
  if (!types.includes('integer')) return schema
  const { minimum, maximum, ...rest } = schema
  return {
    ...rest,
    format: 'int64',
    // Omits a bound that applies to every integer.
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  }
}

/** Later versions may add members to responses. */
function openToMore(schema: JsonSchema): JsonSchema {
  const { additionalProperties, ...rest } = schema
  return additionalProperties === false ? rest : schema
}
