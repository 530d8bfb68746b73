import { z } from 'zod'
import { allEndpoints } from '../../../contract/api.ts'
import type { Access, Endpoint } from '../../../contract/endpoint.ts'
import { errorText } from '../../../contract/errors.ts'
import { BODY_BYTES_MAX, bodyLimit } from '../body-limit.ts'
import { exampleOf } from './openapi-example.ts'

type Json = Record<string, unknown>

let built: Json | undefined

/** The management API as OpenAPI 3.1, generated from the contract; made once. */
export function openApiDocument(version: string): Json {
  built ??= {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse management API',
      version,
      description:
        'Answers carry `success`, `message` and, where there is something to say, `data`. A refusal is HTTP 200 with `success: false` unless stated otherwise.',
    },
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'session' },
        accessToken: { type: 'http', scheme: 'bearer', description: 'System access token' },
      },
    },
    paths: paths(),
  }
  return built
}

function paths(): Json {
  const byPath: Record<string, Json> = {}
  for (const endpoint of allEndpoints) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
    const operations = (byPath[path] ??= {})
    const method = endpoint.method.toLowerCase()
    // Two endpoints of one path and method differ by a query member; the plain one describes them.
    if (endpoint.options.whenQuery !== undefined && method in operations) continue
    operations[method] = operation(endpoint)
  }
  return byPath
}

function operation({ method, path, options }: Endpoint): Json {
  const parameters = [
    ...parametersOf(options.params, 'path'),
    ...parametersOf(options.query, 'query'),
  ]
  return {
    operationId: operationId(method, path),
    tags: [path.split('/')[2] ?? ''],
    ...(options.summary === undefined ? {} : { summary: options.summary }),
    'x-access': options.access,
    ...(options.access === 'anyone' ? {} : { security: [{ session: [] }, { accessToken: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(options.body === undefined
      ? {}
      : { requestBody: { required: true, content: jsonContent(schemaOf(options.body, 'input')) } }),
    responses: responsesOf(path, options),
  }
}

/** `PUT /api/user/self` is `putUserSelf`, `GET /api/log/:id` is `getLogById`. */
function operationId(method: string, path: string): string {
  const words = path
    .replace(/^\/api\//, '')
    .replace(/:(\w+)/g, 'by_$1')
    .split(/[^a-zA-Z0-9]+/)
    .filter((word) => word !== '')
  const isList = path.endsWith('/')
  return (
    method.toLowerCase() +
    words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('') +
    (isList ? 'List' : '')
  )
}

const REFUSAL = {
  type: 'object',
  required: ['success', 'message'],
  properties: { success: { type: 'boolean', const: false }, message: { type: 'string' } },
}

/** What comes as a file, in the format that was asked for; what cannot come has a true status. */
const FILE = {
  'application/json': { schema: { type: 'array', items: { type: 'object' } }, example: [] },
  'application/x-ndjson': { schema: { type: 'string' }, example: '{"id":7}\n' },
  'text/csv': { schema: { type: 'string' }, example: '"id"\r\n"7"\r\n' },
}

/** Statuses that are not the answer itself: everything else is refused with 200. */
function responsesOf(path: string, options: Endpoint['options']): Json {
  const { access, body } = options
  const refused = (description: string, message: string): Json => ({
    description,
    content: { 'application/json': { schema: REFUSAL, example: { success: false, message } } },
  })
  return {
    200: {
      description: 'The answer, or a refusal with `success: false`',
      content:
        options.answer === 'stream'
          ? FILE
          : {
              'application/json': {
                schema: answerSchema(options),
                example: exampleAnswer(path, options),
              },
            },
    },
    ...(access === 'anyone'
      ? {}
      : { 401: refused('Nobody is signed in', errorText('not_signed_in', 'zh')) }),
    ...(body === undefined ? {} : { 413: refused('The body is too large', tooLarge(access)) }),
    ...(options.answer === 'stream' ? fileRefusals(refused) : TOO_MANY),
  }
}

const tooLarge = (access: Access): string =>
  errorText('body_too_large', 'zh', bodyLimit(BODY_BYTES_MAX[access]))

const TOO_MANY = { 429: { description: 'Too many requests; the body is empty' } }

/** Whoever wanted a file is told by the status that there is none. */
const fileRefusals = (refused: (description: string, message: string) => Json): Json => ({
  400: refused('A parameter does not fit', errorText('invalid_parameter', 'zh')),
  429: refused(
    'An export of this user is under way; with too many requests the body is empty',
    errorText('log_export_running', 'zh'),
  ),
  503: refused('Too many exports are under way', errorText('log_export_busy', 'zh')),
})

const jsonContent = (schema: Json): Json => ({
  'application/json': { schema, example: exampleOf(schema) },
})

/** An answer that is one value takes its example by the last word of the path. */
function exampleAnswer(path: string, { data, extra, answer }: Endpoint['options']): unknown {
  const word = path.split('/').findLast((part) => /^[a-z]/.test(part)) ?? ''
  const example = data === undefined ? undefined : exampleOf(schemaOf(data, 'output'), word)
  if (answer === 'raw') return example
  return {
    success: true,
    message: '',
    ...(example === undefined ? {} : { data: example }),
    ...(extra === undefined ? {} : Object(exampleOf(schemaOf(extra, 'output')))),
  }
}

function answerSchema({ data, extra, answer }: Endpoint['options']): Json {
  if (answer === 'raw') return data === undefined ? {} : schemaOf(data, 'output')
  const extraSchema = extra === undefined ? {} : schemaOf(extra, 'output')
  return {
    type: 'object',
    required: ['success', 'message'],
    properties: {
      success: { type: 'boolean' },
      message: { type: 'string' },
      ...(data === undefined ? {} : { data: schemaOf(data, 'output') }),
      ...propertiesOf(extraSchema),
    },
  }
}

function parametersOf(shape: z.ZodType | undefined, place: 'path' | 'query'): Json[] {
  if (shape === undefined) return []
  return Object.entries(propertiesOf(schemaOf(shape, 'input'))).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path',
    schema,
    example: exampleOf(Object(schema), name),
  }))
}

const propertiesOf = (schema: Json): Json => {
  const properties = schema['properties']
  return typeof properties === 'object' && properties !== null ? { ...properties } : {}
}

function schemaOf(shape: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: 'any' })
  return schema
}
