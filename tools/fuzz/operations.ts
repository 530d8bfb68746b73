import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Dice } from './dice.ts'
import { valueFor, type Names, type Schema } from './values.ts'

/** An operation of the API description, prepared for random calls and validation. */
export interface Operation {
  name: string
  method: string
  path: string
  /** Access from the description: `anyone`, `user`, `admin`, `root`. */
  access: string
  parameters: { name: string; place: string; schema: Schema }[]
  body: Schema | null
  /** Validates a successful response; null if it is not a JSON envelope. */
  accepts: ValidateFunction | null
}

export interface FuzzCall {
  operation: string
  method: string
  path: string
  /** Body as sent; undefined for a request without a body. */
  body: string | undefined
}

const METHODS = ['get', 'post', 'put', 'delete']

/** Operations of an OpenAPI document. */
export function operationsOf(document: Schema): Operation[] {
  const ajv = new Ajv2020({ strict: false, formats: { int64: true, double: true } })
  const named: Schema = Object(Object(document['components'])['schemas'])
  return Object.entries(Object(document['paths'])).flatMap(([path, item]) =>
    METHODS.filter((method) => method in Object(item)).map((method) => {
      const operation: Schema = Object(Object(item)[method])
      const answer = jsonSchemaOf(Object(Object(operation['responses'])['200']), named)
      return {
        name: String(operation['operationId']),
        method: method.toUpperCase(),
        path,
        access: String(operation['x-access']),
        parameters: [operation['parameters'] ?? []]
          .flat()
          .map((parameter) => Object(parameter))
          .map((parameter) => ({
            name: String(parameter.name),
            place: String(parameter.in),
            schema: Object(written(parameter.schema, named)),
          })),
        body: jsonSchemaOf(Object(operation['requestBody']), named),
        accepts: answer === null || answer['type'] === 'array' ? null : ajv.compile(answer),
      }
    }),
  )
}

function jsonSchemaOf(place: Schema, named: Schema): Schema | null {
  const schema: unknown = Object(Object(place['content'])['application/json'])['schema']
  return typeof schema === 'object' && schema !== null ? Object(written(schema, named)) : null
}

/** A schema with its references resolved. */
function written(value: unknown, named: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => written(item, named))
  if (typeof value !== 'object' || value === null) return value
  const { $ref, ...rest }: Schema = { ...value }
  const found = typeof $ref === 'string' ? Object(named[$ref.split('/').at(-1) ?? '']) : {}
  const whole = Object.entries({ ...found, ...rest })
  return Object.fromEntries(whole.map(([name, member]) => [name, written(member, named)]))
}

/** A random call of an operation. */
export function callOf(dice: Dice, operation: Operation, names: Names): FuzzCall {
  let path = operation.path
  const query: string[] = []
  for (const { name, place, schema } of operation.parameters) {
    const value = textOf(valueFor(dice, schema, names, name))
    if (place === 'path') {
      const id = dice.chance(80) ? String(dice.below(12)) : value
      path = path.replace(`{${name}}`, encoded(id) || '0')
    } else if (dice.chance(60)) query.push(`${encodeURIComponent(name)}=${encoded(value)}`)
  }
  if (query.length > 0) path += `?${query.join('&')}`
  return {
    operation: operation.name,
    method: operation.method,
    path,
    body: operation.body === null ? undefined : bodyOf(dice, operation.body, names),
  }
}

/** Mostly an object close to the schema; sometimes invalid JSON. */
function bodyOf(dice: Dice, schema: Schema, names: Names): string {
  const text = JSON.stringify(valueFor(dice, schema, names)) ?? 'null'
  return dice.chance(2) ? text.slice(0, dice.below(text.length + 1)) : text
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '')

/** A lone surrogate cannot be percent-encoded. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())
