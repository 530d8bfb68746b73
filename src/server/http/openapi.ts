import { z } from 'zod'
import { allEndpoints } from '../../contract/api.ts'
import type { Endpoint } from '../../contract/endpoint.ts'

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

function operation({ options }: Endpoint): Json {
  const parameters = [
    ...parametersOf(options.params, 'path'),
    ...parametersOf(options.query, 'query'),
  ]
  return {
    ...(options.summary === undefined ? {} : { summary: options.summary }),
    'x-access': options.access,
    ...(options.access === 'anyone' ? {} : { security: [{ session: [] }, { accessToken: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(options.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(options.body, 'input') } },
          },
        }),
    responses: {
      200: {
        description: 'The answer, or a refusal with `success: false`',
        content: { 'application/json': { schema: answerSchema(options) } },
      },
    },
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
