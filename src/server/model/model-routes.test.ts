import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { saveModelData } from './model-data-store.ts'
import { bundledModels } from './model-table.ts'

forEachDatabase('model data', (open) => {
  let server: TestServer
  let root: TestUser
  const said = { status: 200, body: '' }
  const host = http.createServer((_request, response) => {
    response.writeHead(said.status).end(said.body)
  })
  let address = ''

  beforeAll(async () => {
    await new Promise<void>((listening) => host.listen(0, '127.0.0.1', listening))
    // A server that listens on TCP has an address object.
    address = `http://127.0.0.1:${(host.address() as AddressInfo).port}/api.json`
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
  })
  afterAll(async () => {
    await server.close()
    host.close()
  })

  const refresh = (body: object) =>
    server.call('POST', '/api/model-capabilities/refresh', {
      as: root,
      headers: { 'accept-language': 'en' },
      body: { address, ...body },
    })
  const inForce = async () =>
    (await server.call('GET', '/api/model-capabilities', { as: root })).json
  const limitOf = (model: string) => server.app.models.table().capabilitiesOf(model).limit?.output
  const list = (output: number) =>
    JSON.stringify({
      openai: { models: { 'gpt-4o': { limit: { output } }, 'yesterday-1': { limit: { output } } } },
    })

  test('can be compared, applied without a restart, and reverted', async () => {
    expect(await inForce()).toMatchObject({ data: { is_refreshed: false } })
    Object.assign(said, { status: 200, body: list(1234) })
    const compared = await refresh({ dry_run: true })
    expect(compared.json).toMatchObject({
      data: { models: 2, added: ['yesterday-1'], changed: ['gpt-4o'] },
    })
    expect(limitOf('yesterday-1')).toBeUndefined()
    expect((await refresh({})).json).toMatchObject({ success: true })
    expect([limitOf('yesterday-1'), limitOf('gpt-4o')]).toEqual([1234, 1234])
    expect(await inForce()).toMatchObject({ data: { models: 2, is_refreshed: true } })
    const reset = await server.call('DELETE', '/api/model-capabilities/refresh', { as: root })
    expect(reset.json).toMatchObject({ success: true })
    expect([limitOf('yesterday-1'), limitOf('gpt-4o')]).toEqual([undefined, 16_384])
  })

  test.each([
    [200, '{"data":[]}', 'the response is not model data of models.dev (api.json)'],
    [200, 'x', 'the response is not model data of models.dev (api.json)'],
    [500, list(1), 'the server responded with status 500'],
  ])('a response with status %i and %s is rejected', async (status, body, problem) => {
    Object.assign(said, { status, body })
    expect((await refresh({})).json).toMatchObject({
      success: false,
      message: `Fetching the model data failed: ${problem}`,
    })
  })

  test('data older than this version’s is not used', async () => {
    const models = { 'gpt-4o': { limit: { output: 7 } } }
    const stored = { source: 'models.dev (2020-01-01)', models, vendors: {} }
    await saveModelData(server.app.database.write, stored)
    await server.app.models.changed()
    expect(server.app.models.table().data).toBe(bundledModels())
  })

  test('is not for ordinary users', async () => {
    const user = await aUser(server)
    const asked = await server.call('GET', '/api/model-capabilities', { as: user })
    expect(asked.json).toMatchObject({ success: false })
  })
})
