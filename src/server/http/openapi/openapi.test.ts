import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import type { Endpoint } from '../../../contract/endpoint.ts'
import { allEndpoints, api } from '../../../contract/api.ts'
import { USAGE_FILE_COLUMNS } from '../../../contract/dashboard.ts'
import { QUOTA_MAX } from '../../../contract/quota.ts'
import { description, misfits, operationOf, referred } from '../../test/described-answer.ts'
import { openApiDocument } from './openapi.ts'
import { labelledEndpoints, membersOf, type JsonSchema } from '../../test/endpoint-call.ts'
import { onSqlite } from '../../test/for-each-database.ts'
import { startTestServer } from '../../test/test-app.ts'

const { paths, components, ...head } = description
const pathItems: Record<string, JsonSchema> = Object(paths)
const schemas: Record<string, JsonSchema> = Object(Object(components).schemas)

const operations = Object.entries(pathItems).flatMap(([path, item]) =>
  Object.entries(item).map(
    ([method, operation]) =>
      [`${method.toUpperCase()} ${path}`, { ...Object(operation) }] as [string, JsonSchema],
  ),
)

const memberOf = (schema: string, member: string): JsonSchema =>
  Object(Object(schemas[schema]?.['properties'])[member])

test('the document is OpenAPI 3.1', () => {
  expect(head).toEqual({
    openapi: '3.1.0',
    info: {
      title: expect.any(String),
      version: 'v1.2.3',
      description: expect.any(String),
    },
    servers: [{ url: '/' }],
    tags: Object.keys(api).map((name) => ({ name, 'x-displayName': expect.any(String) })),
  })
  // It is sent as JSON, which must not lose anything.
  expect(JSON.parse(JSON.stringify(description))).toEqual(description)
})

test('it is valid by the schema of the OpenAPI Initiative', async () => {
  const result = await new Validator().validate(structuredClone(description))
  expect(result).toEqual({ valid: true })
})

/** All texts of the document, with their paths. */
const textsOf = (document: JsonSchema): [string, string][] =>
  schemasBelow(document, '').flatMap(([at, place]) =>
    ['title', 'summary', 'description', 'x-displayName'].flatMap((name) => {
      const text = place[name]
      return typeof text === 'string' ? ([[`${at}/${name}`, text]] as [string, string][]) : []
    }),
  )

test('every sentence has Chinese in openapi-zh.json', () => {
  const chinese = openApiDocument({ version: 'v1', basePath: '/', language: 'zh' })
  const english = textsOf(chinese).filter(([, text]) =>
    // Names in code may stay; each other sentence or list item needs a Chinese character.
    text
      .replaceAll(/`[^`]+`/g, '')
      .split(/(?<=[.。])|\n/)
      .some((sentence) => /[A-Za-z]/.test(sentence) && !/\p{Script=Han}/u.test(sentence)),
  )
  expect(english).toEqual([])
})

test('every line of openapi-zh.json is used and keeps the names in code', () => {
  const file = new URL('openapi-zh.json', import.meta.url)
  const lines: Record<string, string> = Object(JSON.parse(readFileSync(file, 'utf8')))
  const english = textsOf(description).map(([, text]) => text)
  expect(Object.keys(lines).filter((line) => !english.some((text) => text.includes(line)))).toEqual(
    [],
  )
  const namesIn = (text: string) => text.match(/`[\w.:/<>-]+`/g) ?? []
  const lost = Object.entries(lines).filter(([line, text]) =>
    namesIn(line).some((name) => !text.includes(name)),
  )
  expect(lost).toEqual([])
})

test('no text has an unfilled placeholder', () => {
  expect(textsOf(description).filter(([, text]) => /\{\w+\}/.test(text))).toEqual([])
})

onSqlite('the description', (open) => {
  test('is in the language of a browser, and in English without one', async () => {
    const server = await startTestServer(open)
    const titleIn = async (headers: Record<string, string>): Promise<unknown> => {
      const { json } = await server.call('GET', '/api/openapi.json', { headers })
      return Object(json['info']).title
    }
    expect(await titleIn({ 'accept-language': 'zh-CN,zh;q=0.9' })).toBe('Gatehouse 管理接口')
    expect(await titleIn({ 'accept-language': 'en-US' })).toBe('Gatehouse management API')
    expect(await titleIn({})).toBe('Gatehouse management API')
    await server.close()
  })

  test('names the address below which a proxy lets calls through, of each server its own', async () => {
    for (const [path, url] of [
      ['/gateway/', '/gateway'],
      ['/', '/'],
    ] as const) {
      const server = await startTestServer(open, { BASE_PATH: path })
      const { json } = await server.call('GET', '/api/openapi.json')
      await server.close()
      expect(json['servers']).toEqual([{ url }])
    }
  })
})

test('operation ids are those of the contract, and unique', () => {
  const names = operations.map(([, { operationId }]) => String(operationId))
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  for (const name of names) expect(name).toMatch(/^[a-z]+([A-Z][a-z]+)*$/)
  const plain = allEndpoints.filter(({ options }) => options.whenQuery === undefined)
  expect(names.toSorted()).toEqual(plain.map(({ options }) => options.name).toSorted())
})

test('operations are grouped by the nouns of the contract', () => {
  for (const [noun, endpoints] of Object.entries(api)) {
    for (const endpoint of Object.values(endpoints)) {
      expect(operationOf(endpoint)['tags']).toEqual([noun])
    }
  }
})

test('it lists exactly the endpoints of the contract', () => {
  const declared = allEndpoints.map(
    ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
  )
  expect(operations.map(([label]) => label).toSorted()).toEqual([...new Set(declared)].toSorted())
  for (const path of Object.keys(pathItems)) expect(path).toMatch(/^\/api\//)
})

const parametersOf = (operation: JsonSchema): JsonSchema[] =>
  [operation['parameters'] ?? []].flat().map((parameter) => ({ ...Object(parameter) }))

test.each(labelledEndpoints)('%s is described', (_label, endpoint) => {
  const { options, path } = endpoint
  const operation = operationOf(endpoint)
  expect(operation['x-access']).toBe(options.access)
  expect(operation['x-access-raised-by']).toBe(options.raisedBy)

  const parameters = parametersOf(operation)
  const places = parameters.map(({ in: place, name }) => `${String(place)} ${String(name)}`)
  expect(new Set(places).size).toBe(places.length)
  for (const parameter of parameters) {
    expect(parameter).toMatchObject({ schema: expect.any(Object) })
    // The standard requires it for path parameters.
    expect(parameter['required']).toBe(parameter['in'] === 'path')
  }
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => `path ${name}`)
  expect(places.filter((place) => place.startsWith('path '))).toEqual(inPath)
  const inQuery = membersOf(options.query).map((name) => `query ${name}`)
  expect(places).toEqual(expect.arrayContaining(inQuery))
  expect(operation['requestBody'] !== undefined).toBe(options.body !== undefined)

  const responses = Object(operation['responses'])
  expect(responses).toMatchObject({
    200: {
      description: expect.any(String),
      content: { [options.isTable === true ? 'text/csv' : 'application/json']: {} },
    },
  })
  const schemes = Object.keys(Object(Object(components).securitySchemes))
  const used = [operation['security'] ?? []].flat().flatMap((entry) => Object.keys(Object(entry)))
  expect(schemes).toEqual(expect.arrayContaining(used))
  expect(used.length > 0).toBe(options.access !== 'anyone')
})

/** Every schema below a place, with its path. */
function schemasBelow(value: unknown, at: string): [string, JsonSchema][] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => schemasBelow(item, `${at}/${index}`))
  if (typeof value !== 'object' || value === null) return []
  const found: [string, JsonSchema] = [at, { ...value }]
  const below = Object.entries(value).filter(
    ([name]) => !['example', 'examples', 'enum', 'const', 'default'].includes(name),
  )
  return [found, ...below.flatMap(([name, item]) => schemasBelow(item, `${at}/${name}`))]
}

const everything = schemasBelow(description, '')

test('all references resolve', () => {
  const references = everything.flatMap(([, { $ref }]) => (typeof $ref === 'string' ? [$ref] : []))
  expect(references.length).toBeGreaterThan(500)
  for (const $ref of new Set(references)) expect([$ref, referred({ $ref })]).not.toEqual([$ref, {}])
})

const isOf = (schema: JsonSchema, type: string): boolean =>
  [schema['type'] ?? []].flat().includes(type)

test('numbers state their width and have no trivial bounds', () => {
  const integers = everything.filter(([, schema]) => isOf(schema, 'integer'))
  const numbers = everything.filter(([, schema]) => isOf(schema, 'number'))
  expect(integers.length).toBeGreaterThan(100)
  expect(integers.filter(([, { format }]) => format !== 'int64')).toEqual([])
  expect(numbers.filter(([, { format }]) => format !== 'double')).toEqual([])
  expect(JSON.stringify(description)).not.toContain(String(Number.MAX_SAFE_INTEGER))
})

test('only points, counts, times and ids are integers', () => {
  const fractions = everything.flatMap(([at, schema]) =>
    isOf(schema, 'number') && at.includes('/properties/') ? [at.split('/').at(-1)] : [],
  )
  expect([...new Set(fractions)].toSorted()).toEqual([
    'balance',
    'cost_usd',
    'probability',
    'quota_per_unit',
    'ratio',
    'time',
  ])
  for (const member of ['quota', 'used_quota', 'request_count', 'inviter_id']) {
    expect(memberOf('User', member)).toMatchObject({ type: 'integer', format: 'int64' })
  }
})

test('responses allow additional members', () => {
  expect(everything.filter(([, schema]) => schema['additionalProperties'] === false)).toEqual([])
})

test('everything has a description', () => {
  const silent: string[] = []
  const note = (at: string, place: JsonSchema): void => {
    if (typeof referred(place)['description'] !== 'string') silent.push(at)
  }
  for (const [label, operation] of operations) {
    expect(operation['summary']).toEqual(expect.any(String))
    note(label, operation)
    for (const parameter of parametersOf(operation))
      note(`${label} ${parameter['name']}`, parameter)
    for (const [status, response] of Object.entries(Object(operation['responses']))) {
      note(`${label} ${status}`, Object(response))
    }
  }
  for (const [name, schema] of Object.entries(schemas)) note(name, schema)
  for (const [at, schema] of everything) {
    for (const [member, value] of Object.entries(Object(schema['properties']))) {
      // The description of the operation also describes its data.
      if (member !== 'data') note(`${at} ${member}`, Object(value))
    }
  }
  expect(silent).toEqual([])
})

// Checked by handlers with their own error texts.
test.each([
  ['UserCreate', 'username', { maxLength: 12 }],
  ['UserCreate', 'password', { minLength: 8, maxLength: 72 }],
  ['Registration', 'username', { maxLength: 12 }],
  ['Registration', 'email', { maxLength: 50 }],
  ['UserCreate', 'display_name', { maxLength: 20 }],
  ['ManageAction', 'action', { enum: ['promote', 'demote', 'delete', 'disable', 'enable'] }],
  ['TopUp', 'quota', { minimum: 0, maximum: QUOTA_MAX }],
  ['TokenInput', 'name', { maxLength: 30 }],
  ['TokenInput', 'remain_quota', { minimum: -1, maximum: QUOTA_MAX }],
  ['RedemptionInput', 'name', { minLength: 1, maxLength: 20 }],
  ['RedemptionInput', 'count', { minimum: 1, maximum: 100 }],
])('%s states the limits of its member %s', (schema, member, limits) => {
  expect(memberOf(schema, member)).toMatchObject(limits)
})

test.each([
  ['UserUpdate', { id: 3, username: 'sign-in-elsewhere', quota: -7, email: `${'a'.repeat(60)}@x` }],
  ['SelfUpdate', { username: 'sign-in-elsewhere', display_name: 'a'.repeat(30) }],
  ['RedemptionUpdate', { id: 3, name: '', quota: -7 }],
  [
    'TokenUpdate',
    {
      id: 3,
      name: 'a'.repeat(40),
      expired_time: -1,
      remain_quota: -7,
      unlimited_quota: false,
      models: '',
      subnet: '',
    },
  ],
])('%s accepts values that an adopted database may contain', (schema, stored) => {
  expect(misfits(Object(schemas[schema]), stored)).toEqual([])
})

test.each([
  ['Credentials', ['username', 'password']],
  ['UserCreate', ['username', 'password']],
  ['ManageAction', ['username', 'action']],
  ['PasswordReset', ['email', 'token']],
  ['TopUp', ['user_id', 'quota']],
  ['RedemptionInput', ['name', 'count']],
  ['RedemptionCode', ['key']],
  ['ChannelCreate', ['key']],
  ['OptionChange', ['key']],
  // All members are written; an omitted one would be lost.
  [
    'TokenUpdate',
    ['id', 'name', 'expired_time', 'remain_quota', 'unlimited_quota', 'models', 'subnet'],
  ],
])('these members of %s are required', (schema, members) => {
  expect(schemas[schema]?.['required']).toEqual(members)
  for (const member of members) expect(isOf(memberOf(schema, member), 'null')).toBe(false)
})

test.each([
  ['PUT /api/token/', 'TokenUpdate', 'TokenStatusChange'],
  ['PUT /api/redemption/', 'RedemptionUpdate', 'RedemptionStatusChange'],
])('%s accepts a whole object, or with status_only a status', (label, whole, status) => {
  const operation = Object(operations.find(([listed]) => listed === label)?.[1])
  expect(operation.parameters).toMatchObject([{ name: 'status_only', in: 'query' }])
  expect(operation.requestBody.content['application/json'].schema).toEqual({
    anyOf: [whole, status].map((name) => ({ $ref: `#/components/schemas/${name}` })),
  })
  expect(misfits(Object(schemas[status]), { id: 3, status: 2 })).toEqual([])
  // Otherwise a client could clear all members but one.
  expect(misfits(Object(schemas[whole]), { id: 3, status: 2 })).not.toEqual([])
})

test('a table has a column for each member of its rows', () => {
  const { responses } = operationOf(api.dashboard.export)
  const { schema, example } = Object(Object(Object(responses)['200']).content)['text/csv']
  const columns = USAGE_FILE_COLUMNS.map((name) => expect.stringContaining(`- \`${name}\`: `))
  expect(schema.description.split('\n').slice(1)).toEqual(columns)
  const [names, row] = example.split('\r\n')
  expect(names).toBe(USAGE_FILE_COLUMNS.map((name) => `"${name}"`).join(','))
  expect(row.split(',')).toHaveLength(USAGE_FILE_COLUMNS.length)
})

const statusesOf = (endpoint: Endpoint): number[] =>
  Object.keys(Object(operationOf(endpoint)['responses'])).map(Number)

test('it states the status codes of errors', () => {
  const { status, oauth, option, log, user, audit } = {
    ...api,
    audit: api.audit.list,
    user: api.user.update,
  }
  expect(statusesOf(status.status)).toEqual([200, 429, 500, 503])
  expect(statusesOf(audit)).toEqual([200, 401, 429, 500, 503])
  expect(statusesOf(user)).toEqual([200, 401, 403, 408, 413, 415, 429, 500, 503])
  expect(statusesOf(oauth.github)).toEqual([200, 403, 429, 500, 503])
  expect(statusesOf(option.update)).toContain(400)
  expect(statusesOf(log.export)).toEqual([200, 400, 401, 403, 429, 500, 503])
})

/** Every place of an operation with a schema, and its examples. */
function describedPlaces(operation: JsonSchema): { schema: object; values: unknown[] }[] {
  const contents = [operation['requestBody'], ...Object.values(Object(operation['responses']))]
    .map((place) => Object(Object(referred(place)['content'])['application/json']))
    .filter(({ schema }) => schema !== undefined)
  return [...parametersOf(operation).map((place) => Object(place)), ...contents].map(
    ({ schema, example, examples = { only: { value: example } } }) => ({
      schema,
      values: Object.values(examples).map((named) => Object(named).value),
    }),
  )
}

test.each(operations)('%s has examples everywhere, and all are valid', (_label, operation) => {
  for (const { schema, values } of describedPlaces(operation)) {
    for (const value of values) {
      expect(value).toBeDefined()
      expect(misfits(schema, value)).toEqual([])
    }
  }
})

test('examples of named schemas are valid', () => {
  for (const schema of Object.values(schemas)) {
    for (const value of [schema['examples'] ?? []].flat())
      expect(misfits(schema, value)).toEqual([])
  }
})
