import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import type { Endpoint } from '../../../contract/endpoint.ts'
import { allEndpoints } from '../../../contract/api.ts'
import { labelledEndpoints, membersOf } from '../../test/endpoint-call.ts'
import { openApiDocument } from './openapi.ts'

const { paths, components, ...head } = openApiDocument('v1.2.3')
const pathItems: Record<string, Record<string, unknown>> = Object(paths)

const operationOf = ({ method, path }: Endpoint): Record<string, unknown> =>
  Object(pathItems[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()])

test('the document is an OpenAPI 3.1 one', () => {
  expect(head).toEqual({
    openapi: '3.1.0',
    info: {
      title: expect.any(String),
      version: 'v1.2.3',
      description: expect.any(String),
    },
  })
  // It travels as JSON: nothing may get lost on the way.
  expect(JSON.parse(JSON.stringify(paths))).toEqual(paths)
})

test('it is valid by the schema that the OpenAPI Initiative publishes', async () => {
  const result = await new Validator().validate(structuredClone({ ...head, components, paths }))
  expect(result).toEqual({ valid: true })
})

test('no two operations share a name', () => {
  const names = Object.values(pathItems)
    .flatMap((item) => Object.values(item))
    .map((operation) => String(Object(operation).operationId))
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  for (const name of names) expect(name).toMatch(/^(get|post|put|delete)[A-Z][A-Za-z0-9]+$/)
})

test('it lists what the contract lists, and nothing else', () => {
  const listed = Object.entries(pathItems).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const declared = allEndpoints.map(
    ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
  )
  expect(listed.toSorted()).toEqual([...new Set(declared)].toSorted())
  for (const path of Object.keys(pathItems)) expect(path).toMatch(/^\/api\//)
})

test.each(labelledEndpoints)('%s is described', (_label, endpoint) => {
  const { options, path } = endpoint
  const operation = operationOf(endpoint)
  expect(operation['x-access']).toBe(options.access)

  const parameters = [operation['parameters'] ?? []].flat().map((parameter) => Object(parameter))
  const places = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
  expect(new Set(places).size).toBe(places.length)
  for (const parameter of parameters) {
    expect(parameter).toMatchObject({ schema: expect.any(Object) })
    // The standard demands it of path parameters.
    if (parameter.in === 'path') expect(parameter.required).toBe(true)
  }
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => `path ${name}`)
  expect(places.filter((place) => place.startsWith('path '))).toEqual(inPath)
  // Of two endpoints on one address the plain one is described.
  if (options.whenQuery === undefined) {
    expect(places.filter((place) => place.startsWith('query '))).toEqual(
      membersOf(options.query).map((name) => `query ${name}`),
    )
    expect(operation['requestBody'] !== undefined).toBe(options.body !== undefined)
  }

  const responses = Object(operation['responses'])
  expect(responses).toMatchObject({
    200: { description: expect.any(String), content: { 'application/json': {} } },
  })
  const schemes = Object.keys(Object(Object(components).securitySchemes))
  const used = [operation['security'] ?? []].flat().flatMap((entry) => Object.keys(Object(entry)))
  expect(schemes).toEqual(expect.arrayContaining(used))
  expect(used.length > 0).toBe(options.access !== 'anyone')
})

test('no schema points to something that is not there', () => {
  expect(JSON.stringify(paths)).not.toContain('"$ref"')
})

const ajv = new Ajv2020({ strict: false })

/** Every place of an operation that has a schema, with the example given for it. */
function describedPlaces(
  operation: Record<string, unknown>,
): { schema: object; example: unknown }[] {
  const contents = [operation['requestBody'], ...Object.values(Object(operation['responses']))]
    .map((place) => Object(Object(Object(place).content)['application/json']))
    .filter(({ schema }) => schema !== undefined)
  return [...[operation['parameters'] ?? []].flat().map((place) => Object(place)), ...contents]
}

test.each(labelledEndpoints)('%s has an example everywhere, and each fits', (_label, endpoint) => {
  for (const { schema, example } of describedPlaces(operationOf(endpoint))) {
    expect(example).toBeDefined()
    expect(ajv.validate(schema, example) ? [] : [example, ajv.errors]).toEqual([])
  }
})
