import { api } from '../../../contract/api.ts'
import type { Access, Endpoint } from '../../../contract/endpoint.ts'
import type { Language } from '../../../contract/errors.ts'
import { inChinese } from './openapi-chinese.ts'
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
  /** Default: English. */
  language?: Language
}

/** Returns the management API as OpenAPI 3.1, generated from the contract. */
export function openApiDocument({ version, basePath, language = 'en' }: About): JsonSchema {
  const schemas = createSchemas()
  const responses = createResponses(schemas, language)
  const paths = pathItems(schemas, responses)
  const document = {
    openapi: '3.1.0',
    info: { title: 'Gatehouse management API', version, description: DESCRIPTION },
    servers: [{ url: basePath.replace(/(.)\/$/, '$1') }],
    tags: Object.keys(api).map((name) => ({ name, 'x-displayName': inWords(name) })),
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
  return language === 'zh' ? inChinese(document) : document
}

/** Returns the words of a camelCase name. */
const inWords = (name: string): string =>
  name.replace(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`)

const sorted = <T>(members: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)))

function pathItems(schemas: Schemas, responses: Responses): JsonSchema {
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
      ...operation(schemas, endpoint, variants),
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
  schemas: Schemas,
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
    summary: options.summary,
    description: [whoMayCall(options), ...variants.map(insteadOf)].join('\n\n'),
    'x-access': options.access,
    ...(options.needsProof === undefined
      ? {}
      : { 'x-needs-proof': options.needsProof === true ? 'always' : 'sometimes' }),
    ...(options.raisedBy === undefined ? {} : { 'x-access-raised-by': options.raisedBy }),
    ...(options.access === 'anyone' ? {} : { security: [{ session: [] }, { accessToken: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(bodies.length === 0 ? {} : { requestBody: requestBody(schemas, bodies) }),
  }
}

const WHO: Record<Access, string> = {
  anyone: 'Public.',
  user: 'For users.',
  admin: 'For administrators (role 10 and above).',
  root: 'For super admins (role 100).',
}

function whoMayCall({ access, raisedBy, needsProof }: Endpoint['options']): string {
  return [
    WHO[access],
    ...(raisedBy === undefined ? [] : [`\`${raisedBy}\` can restrict it to super admins.`]),
    ...(needsProof === undefined ? [] : [needsProof === true ? PROOF : PROOF_SOMETIMES]),
  ].join(' ')
}

const PROOF =
  'A session needs a proof of identity within five minutes: signing in, or `POST /api/verify`.'
const PROOF_SOMETIMES =
  'A session may need a proof of identity within five minutes: signing in, or `POST /api/verify`.'

const insteadOf = ({ options }: Endpoint): string =>
  `With this parameter instead:\n\n- \`${options.whenQuery}\`: ${options.summary}`

/** Several bodies have one example each, named after the action. */
function requestBody(schemas: Schemas, endpoints: readonly Endpoint[]): JsonSchema {
  const exampleOf = createExamples(schemas.named)
  const bodies = endpoints.flatMap(({ options: { name, summary, body } }) => {
    if (body === undefined) return []
    const schema = schemas.of(body, 'input')
    return [{ name, summary, schema, value: exampleOf(schema) }]
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
