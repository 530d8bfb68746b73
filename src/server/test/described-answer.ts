import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Endpoint } from '../../contract/endpoint.ts'
import { openApiDocument } from '../http/openapi/openapi.ts'
import type { JsonSchema } from './endpoint-call.ts'
import type { TestAnswer } from './test-app.ts'

/** The API description, for tests that compare requests and responses with it. */
export const description = openApiDocument({ version: 'v1.2.3', basePath: '/' })

const ajv = new Ajv2020({ strict: false, formats: { int64: true, double: true } })

/** Returns why a value does not match a schema of the description. */
export function misfits(schema: object, value: unknown): unknown[] {
  const whole = { ...schema, components: description['components'] }
  return ajv.validate(whole, value) ? [] : [value, ajv.errors]
}

/** Returns the operation that contains an endpoint. */
export const operationOf = ({ method, path }: Endpoint): JsonSchema =>
  Object(
    Object(Object(description['paths'])[path.replace(/:(\w+)/g, '{$1}')])[method.toLowerCase()],
  )

/** Returns a place in the description, with its reference resolved. */
export function referred(place: unknown): JsonSchema {
  const { $ref, ...own }: JsonSchema = Object(place)
  if (typeof $ref !== 'string') return own
  const found = $ref
    .split('/')
    .slice(1)
    .reduce((at: unknown, step) => Object(at)[step], description)
  return { ...referred(found), ...own }
}

/** Returns differences between a response and the description. */
export function undescribed(endpoint: Endpoint, answer: TestAnswer): unknown[] {
  const response = referred(Object(operationOf(endpoint)['responses'])[answer.status])
  if (response['description'] === undefined) return [`status ${answer.status} is not described`]
  const headers = Object.keys(Object(response['headers'])).map((name) => name.toLowerCase())
  const { schema } = Object(Object(response['content'])['application/json'])
  return [
    ...headers.filter(
      (name) => answer.headers[name] === undefined && answer.json['success'] === true,
    ),
    ...('x-total-count' in answer.headers && !headers.includes('x-total-count')
      ? ['X-Total-Count is not described']
      : []),
    ...(schema === undefined ? [] : misfits(schema, answer.json)),
  ]
}
