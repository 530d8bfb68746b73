import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { anAccessToken, aUser } from '../test/factories.ts'
import { onSqlite } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

const GUIDE = fs.readFileSync(
  path.join(import.meta.dirname, '../../../docs/manual/en/api.md'),
  'utf8',
)

/** `name=$(api METHOD PATH BODY | jq PATH)`; only `api METHOD PATH` is required. */
const CALL = new RegExp(
  [
    /^(?:(?<name>\w+)=\$\()?/,
    /api (?<method>[A-Z]+) (?<quote>['"]?)(?<path>[^'"\s]+)\k<quote>/,
    /(?: '(?<plain>[^']*)'| "(?<filled>(?:\\"|[^"])*)")?/,
    /(?: \| jq '(?<jq>[^']+)'\))?$/,
  ]
    .map(({ source }) => source)
    .join(''),
)

const LINES = GUIDE.split('\n').filter((line) => /^(\w+=\$\()?api [A-Z]/.test(line))

/** Resolves `.data[0].id`. */
const followed = (value: unknown, jq: string): unknown =>
  jq
    .split(/[.[\]]/)
    .filter((step) => step !== '')
    .reduce((at: unknown, step) => Object(at)[step], value)

// Runs the examples of the guide from top to bottom, as a reader would.
onSqlite('the guide to the API', (open) => {
  let server: TestServer
  let accessToken: string
  beforeAll(async () => {
    server = await startTestServer(open)
    accessToken = await anAccessToken(server, (await aUser(server, { role: Role.admin })).id)
  })
  afterAll(() => server.close())

  test('has many examples, and each succeeds', async () => {
    expect(LINES.length).toBeGreaterThan(15)
    const variables = new Map<string, string>()
    const fill = (text: string): string =>
      text.replaceAll('\\"', '"').replaceAll(/\$(\w+)/g, (_all, name: string) => {
        const value = variables.get(name)
        expect(value).toMatch(/^\d+$/)
        return String(value)
      })
    for (const line of LINES) {
      const {
        name,
        method = '',
        path: address = '',
        plain,
        filled,
        jq,
      } = CALL.exec(line)?.groups ?? {}
      expect([line, method]).not.toEqual([line, ''])
      const body = plain ?? (filled === undefined ? undefined : fill(filled))
      const answer = await server.call(method, fill(address), {
        as: { accessToken },
        ...(body === undefined ? {} : { body }),
      })
      expect([line, answer.status]).toEqual([line, 200])
      if (/\/export\b/.test(address)) {
        expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8')
        continue
      }
      expect([line, answer.message, answer.json['success']]).toEqual([
        line,
        expect.anything(),
        true,
      ])
      if (name !== undefined && jq !== undefined) {
        variables.set(name, String(followed(answer.json, jq)))
      }
    }
    expect([...variables.keys()]).toEqual(['id', 'token', 'channel'])
    const people = await server.call('GET', '/api/user/search?keyword=li.ming', {
      as: { accessToken },
    })
    expect(people.data).toMatchObject([{ quota: 750_000, status: 2, group: 'vip,default' }])
  })
})
