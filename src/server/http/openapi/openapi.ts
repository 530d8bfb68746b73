import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { api } from '../../../contract/api.ts'
import type { Access, Endpoint } from '../../../contract/endpoint.ts'
import type { Language } from '../../../contract/errors.ts'
import { createExamples, type JsonSchema } from './openapi-example.ts'
import { createResponses, HEADERS, type Responses } from './openapi-responses.ts'
import { createSchemas, type Schemas } from './openapi-schema.ts'

const DESCRIPTION = `Responses have \`success\`, \`message\` and, if there is a result, \`data\`. An error is HTTP 200 with \`success: false\` and a \`message\`, in Chinese unless \`Accept-Language\` names another language first. Each operation lists the errors that have their own HTTP status.

Bodies are JSON objects. Types are strict, \`null\` equals absent, and unknown members are ignored. Quota is in whole points; \`quota_per_unit\` of \`GET /api/status\` is the number of points per dollar. Times are seconds since 1970 unless noted. Lengths count characters.

Clients must ignore unknown members of responses: a later version may add some.`

interface About {
  version: string
  /** Base path of the server: `/`, or `/gateway/` behind a proxy. */
  basePath: string
  /** Language of titles and summaries; descriptions of members are in English. Default: English. */
  language?: Language
}

type Translate = (english: string) => string

const CHINESE_FILE = new URL('openapi-zh.json', import.meta.url)
let chinese: Readonly<Record<string, string>> | undefined

/** Chinese for English texts of the description; read from disk once, on the first call. */
function chineseTexts(): Readonly<Record<string, string>> {
  chinese ??= z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(CHINESE_FILE, 'utf8')))
  return chinese
}

/** Returns the management API as OpenAPI 3.1, generated from the contract. */
export function openApiDocument({ version, basePath, language = 'en' }: About): JsonSchema {
  const isChinese = language === 'zh'
  const translate: Translate = (text) => (isChinese ? (chineseTexts()[text] ?? text) : text)
  const schemas = createSchemas()
  const responses = createResponses(schemas)
  const paths = pathItems(schemas, responses, translate)
  return {
    openapi: '3.1.0',
    info: {
      title: translate('Gatehouse management API'),
      version,
      description: translate(DESCRIPTION),
    },
    servers: [{ url: basePath.replace(/(.)\/$/, '$1') }],
    tags: Object.keys(api).map((name) => ({
      name,
      ...(isChinese ? { 'x-displayName': translate(name) } : {}),
    })),
    paths,
    components: {
      schemas: sorted(schemas.named),
      responses: sorted(responses.shared),
      headers: HEADERS,
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'session',
          description: 'Set by signing in. Takes precedence over the header.',
        },
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          description:
            'System access token of a user, with that user’s role. `Authorization: <token>` works as well, without `Bearer`.',
        },
      },
    },
  }
}

const sorted = <T>(members: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)))

function pathItems(schemas: Schemas, responses: Responses, translate: Translate): JsonSchema {
  const tagged = Object.entries(api).flatMap(([tag, noun]) =>
    Object.values(noun).map((endpoint: Endpoint) => ({ tag, endpoint })),
  )
  const byPath: Record<string, JsonSchema> = {}
  for (const { tag, endpoint } of tagged) {
    const { method, path, options } = endpoint
    if (options.whenQuery !== undefined) continue
    const variants = tagged
      .map((other) => other.endpoint)
      .filter((other) => other !== endpoint && other.method === method && other.path === path)
    const item = (byPath[path.replace(/:(\w+)/g, '{$1}')] ??= {})
    item[method.toLowerCase()] = {
      tags: [tag],
      ...operation({ schemas, translate }, endpoint, variants),
      responses: responses.of(endpoint),
    }
  }
  return byPath
}

/**
 * Describes one path and method. `variants` apply if their query member is present; OpenAPI cannot
 * express these as separate operations.
 */
function operation(
  { schemas, translate }: { schemas: Schemas; translate: Translate },
  endpoint: Endpoint,
  variants: readonly Endpoint[],
): JsonSchema {
  const { options } = endpoint
  const parameters = [
    ...parametersOf(schemas, endpoint, 'path'),
    ...[endpoint, ...variants].flatMap((one) => parametersOf(schemas, one, 'query')),
  ]
  const bodies = [endpoint, ...variants].filter((one) => one.options.body !== undefined)
  return {
    operationId: options.name,
    summary: translate(options.summary),
    description: [
      whoMayCall(options, translate),
      ...variants.map((variant) => insteadOf(variant, translate)),
    ].join(' '),
    'x-access': options.access,
    ...(options.needsProof === undefined
      ? {}
      : { 'x-needs-proof': options.needsProof === true ? 'always' : 'sometimes' }),
    ...(options.raisedBy === undefined ? {} : { 'x-access-raised-by': options.raisedBy }),
    ...(options.access === 'anyone' ? {} : { security: [{ session: [] }, { accessToken: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(bodies.length === 0 ? {} : { requestBody: requestBody(schemas, bodies, translate) }),
  }
}

const WHO: Record<Access, string> = {
  anyone: 'Public.',
  user: 'For users.',
  admin: 'For administrators (role 10 and above).',
  root: 'For root (role 100).',
}

function whoMayCall(
  { access, raisedBy, needsProof }: Endpoint['options'],
  translate: Translate,
): string {
  return [
    translate(WHO[access]),
    ...(raisedBy === undefined
      ? []
      : [translate('`{setting}` can restrict it to root.').replace('{setting}', raisedBy)]),
    ...(needsProof === undefined ? [] : [translate(needsProof === true ? PROOF : PROOF_SOMETIMES)]),
  ].join(' ')
}

const PROOF =
  'A session needs a proof of identity within five minutes: signing in, or `POST /api/verify`.'
const PROOF_SOMETIMES =
  'A session may need a proof of identity within five minutes: signing in, or `POST /api/verify`.'

const insteadOf = ({ options }: Endpoint, translate: Translate): string =>
  translate('With `{query}` instead: {summary}')
    .replace('{query}', options.whenQuery ?? '')
    .replace('{summary}', translate(options.summary))

/** Several bodies have one example each, named after the action. */
function requestBody(
  schemas: Schemas,
  endpoints: readonly Endpoint[],
  translate: Translate,
): JsonSchema {
  const exampleOf = createExamples(schemas.named)
  const bodies = endpoints.flatMap(({ options: { name, summary, body } }) => {
    if (body === undefined) return []
    const schema = schemas.of(body, 'input')
    return [{ name, summary: translate(summary), schema, value: exampleOf(schema) }]
  })
  const [only] = bodies
  const content =
    bodies.length === 1
      ? { schema: only?.schema, example: only?.value }
      : {
          schema: { anyOf: bodies.map(({ schema }) => schema) },
          examples: Object.fromEntries(
            bodies.map(({ name, summary, value }) => [name, { summary, value }]),
          ),
        }
  return { required: true, content: { 'application/json': content } }
}

function parametersOf(
  schemas: Schemas,
  { options }: Endpoint,
  place: 'path' | 'query',
): JsonSchema[] {
  const shape = place === 'path' ? options.params : options.query
  if (shape === undefined) return []
  const exampleOf = createExamples(schemas.named)
  const members = Object.entries(Object(schemas.of(shape, 'input')['properties']))
  return members.map(([name, member]) => {
    const { description, ...schema }: JsonSchema = Object(member)
    return {
      name,
      in: place,
      description,
      required: place === 'path',
      schema,
      example: exampleOf(schema, name),
    }
  })
}
