import { z } from 'zod'
import { USAGE_FILE_DAYS_MAX } from '../../../contract/dashboard.ts'
import { bodyClassOf, type Endpoint, type EndpointOptions } from '../../../contract/endpoint.ts'
import type { ErrorSpec } from '../../../contract/error-spec.ts'
import {
  errors,
  errorText,
  type ErrorCode,
  type ErrorParams,
  type Language,
} from '../../../contract/errors.ts'
import { BODY_LIMITS, sizeText } from '../body-limit.ts'
import { TIME_LIMITS } from '../time-limits.ts'
import { createExamples, type JsonSchema } from './openapi-example.ts'
import type { Schemas } from './openapi-schema.ts'

/** Response descriptions of the API: results and errors. Most errors have status 200 as well. */

/** Response headers. */
export const HEADERS = {
  RequestId: {
    description: 'Id of the request, also in log rows, the audit and the server’s output.',
    schema: { type: 'string' },
    example: '2026092208132412345678987654321',
  },
  TotalCount: {
    description: 'Total number of rows in the list.',
    schema: { type: 'integer', format: 'int64' },
    example: 42,
  },
  RetryAfter: {
    description: 'Seconds until requests are accepted again.',
    schema: { type: 'integer', format: 'int64' },
    example: 120,
  },
}

const header = (name: keyof typeof HEADERS) => ({ $ref: `#/components/headers/${name}` })

const REQUEST_ID = { 'X-Oneapi-Request-Id': header('RequestId') }

/** The envelope around the data of a response. */
const ENVELOPE = {
  type: 'object',
  required: ['success', 'message'],
  properties: {
    success: { type: 'boolean', const: true, description: 'The request succeeded.' },
    message: {
      type: 'string',
      description: 'Usually empty for a success.',
    },
  },
}

const REFUSAL = {
  type: 'object',
  description: 'An error.',
  required: ['success', 'message'],
  properties: {
    success: { type: 'boolean', const: false, description: 'The request failed.' },
    message: {
      type: 'string',
      description: 'The reason, as text for users. It may change.',
    },
    code: {
      type: 'string',
      description:
        'Present only if a client must react: `VERIFICATION_REQUIRED` requires `POST /api/verify`.',
    },
  },
}

const TOO_MANY = 429
const TOO_MANY_CALLS = 'Too many requests from this address; the body is empty.'

/** For a requested file the status code reports the error. */
const FILE_REFUSALS = [
  'invalid_parameter',
  'access_token_invalid',
  'role_too_low',
  'user_disabled',
  'password_change_required',
] as const

/** Generates the responses of operations; shared ones are generated once. */
export interface Responses {
  of(endpoint: Endpoint): JsonSchema
  /** Shared responses that operations refer to. */
  shared: Record<string, JsonSchema>
}

/** `language` is that of error messages; all other texts are in English. */
export function createResponses(schemas: Schemas, language: Language): Responses {
  const shared: Record<string, JsonSchema> = {}
  const refusal = schemas.name('Refusal', REFUSAL)
  const done = schemas.name('Success', { ...ENVELOPE, description: 'Success without data.' })

  /** Returns a reference to the errors of a status. */
  function refused(status: number, codes: readonly ErrorCode[], options: EndpointOptions) {
    const limits = errorParams(options)
    const name =
      codes.length === 0
        ? 'TooManyCalls'
        : codes.map((code) => responseName(code, options)).join('Or')
    const [first] = codes
    const stop = language === 'zh' ? '。' : '.'
    const sentences = codes.map((code) => `${errorText(code, language, limits[code])}${stop}`)
    shared[name] ??= {
      description: [...sentences, ...(status === TOO_MANY ? [TOO_MANY_CALLS] : [])].join(' '),
      headers: {
        ...REQUEST_ID,
        ...(status === TOO_MANY || codes.some(namesTime)
          ? { 'Retry-After': header('RetryAfter') }
          : {}),
      },
      ...(first === undefined
        ? {}
        : {
            content: {
              'application/json': {
                schema: refusal,
                example: { success: false, message: errorText(first, language, limits[first]) },
              },
            },
          }),
    }
    return { $ref: `#/components/responses/${name}` }
  }

  return {
    shared,
    of(endpoint) {
      const { options } = endpoint
      return {
        200: {
          description: mayBeRefused(options)
            ? 'The result, or an error with `success: false`.'
            : 'The result.',
          headers: {
            ...REQUEST_ID,
            ...(options.counted === true ? { 'X-Total-Count': header('TotalCount') } : {}),
          },
          content:
            options.answer === 'stream'
              ? fileContent(schemas, options)
              : answerContent(answerSchema(options), options),
        },
        ...Object.fromEntries(
          trueRefusals(endpoint).map(([status, codes]) => [
            status,
            refused(status, codes, options),
          ]),
        ),
      }
    },
  }

  function answerContent(schema: JsonSchema, options: EndpointOptions): JsonSchema {
    return {
      'application/json': {
        schema: mayBeRefused(options) ? { oneOf: [schema, refusal] } : schema,
        example: createExamples(schemas.named)(schema),
      },
    }
  }

  function answerSchema({ name, summary, data, extra, answer }: EndpointOptions): JsonSchema {
    if (answer === 'raw') return data === undefined ? {} : schemas.of(data, 'output')
    if (data === undefined && extra === undefined) return done
    const parts = [
      ...(data === undefined ? [] : [schemas.of(z.object({ data }), 'output')]),
      ...(extra === undefined ? [] : [schemas.of(extra, 'output')]),
    ]
    return schemas.name(`${capitalized(name)}Answer`, {
      ...ENVELOPE,
      description: summary,
      required: [...ENVELOPE.required, ...parts.flatMap(({ required }) => required ?? [])],
      properties: Object.assign(
        {},
        ENVELOPE.properties,
        ...parts.map(({ properties }) => properties),
      ),
    })
  }
}

/** A file of rows in the requested format. */
function fileContent(schemas: Schemas, options: EndpointOptions): JsonSchema {
  const { data = z.unknown(), columns = [], isTable } = options
  if (isTable === true) return tableContent(schemas, data)
  const rows = schemas.of(z.array(data), 'output')
  return {
    'application/json': { schema: rows, example: createExamples(schemas.named)(rows) },
    'application/x-ndjson': {
      schema: { type: 'string', description: 'The same rows, one per line.' },
      example: '{"id":7}\n',
    },
    'text/csv': {
      schema: {
        type: 'string',
        description: `Columns:\n\n${columns.map((name) => `\`${name}\``).join(', ')}`,
      },
      example: '"id"\r\n"7"\r\n',
    },
  }
}

function tableContent(schemas: Schemas, row: z.ZodType): JsonSchema {
  const columns: [string, z.ZodType][] = row instanceof z.ZodObject ? Object.entries(row.shape) : []
  const described = columns.map(([name, { description }]) => `- \`${name}\`: ${description}`)
  const exampleOf = createExamples(schemas.named)
  const lines = [
    columns.map(([name]) => name),
    columns.map(([, column]) => exampleOf(schemas.of(column, 'output'))),
  ]
  return {
    'text/csv': {
      schema: { type: 'string', description: ['Columns:', ...described].join('\n') },
      example: lines.map((line) => `${line.map((cell) => `"${cell}"`).join(',')}\r\n`).join(''),
    },
  }
}

/**
 * Whether a call can fail: a public call without input cannot, except those that start something.
 */
const mayBeRefused = ({ access, params, query, body, rate }: EndpointOptions): boolean =>
  access !== 'anyone' || rate === 'critical' || Boolean(params ?? query ?? body)

/** Returns the errors that have their own status, by status. */
function trueRefusals(endpoint: Endpoint): [number, ErrorCode[]][] {
  const codes = [...commonRefusals(endpoint), ...(endpoint.options.refusals ?? [])]
  const byStatus = Map.groupBy(codes, (code): number => errors[code].status)
  // For too many requests there is only a status.
  if (!byStatus.has(TOO_MANY)) byStatus.set(TOO_MANY, [])
  return [...byStatus].toSorted(([a], [b]) => a - b)
}

function commonRefusals({ method, options }: Endpoint): ErrorCode[] {
  const { access, body, misfit, answer, changesState } = options
  return [
    ...(access === 'anyone' ? [] : (['not_signed_in'] as const)),
    ...(method === 'GET' && changesState !== true ? [] : (['cross_site'] as const)),
    ...(body === undefined ? [] : (['body_slow', 'body_too_large'] as const)),
    ...(body === undefined || bodyClassOf(options) === 'bulk'
      ? []
      : (['body_compression_refused'] as const)),
    ...(misfit === undefined ? [] : [misfit]),
    ...(answer === 'stream' ? FILE_REFUSALS : []),
    'internal',
    'database_unavailable',
    'busy',
  ]
}

const MS_PER_SECOND = 1000

/** Parameters of error texts that are known in advance. */
const errorParams = (options: EndpointOptions): Partial<Record<ErrorCode, ErrorParams>> => ({
  body_too_large: { limit: sizeText(BODY_LIMITS[bodyClassOf(options)].bytesMax) },
  body_slow: { limit: TIME_LIMITS.bodyMs / MS_PER_SECOND },
  log_time_zone_unknown: { zone: 'Asia/Atlantis' },
  dashboard_range_invalid: { days: USAGE_FILE_DAYS_MAX },
})

/** Name of a response, such as `NotSignedIn`; that of a large body has one name per body class. */
function responseName(code: ErrorCode, options: EndpointOptions): string {
  const words = code.split('_').map(capitalized).join('')
  return code === 'body_too_large' ? `${words}${capitalized(bodyClassOf(options))}` : words
}

function namesTime(code: ErrorCode): boolean {
  const { retryAfter }: ErrorSpec = errors[code]
  return retryAfter !== undefined
}

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
