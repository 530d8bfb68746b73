import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { LogType } from '../../contract/log.ts'
import { addAllChannelSums } from '../ledger/channel-sums.ts'
import { saveCaptureMode } from '../log/body/body-store.ts'
import { captureMessage } from '../log/body/capture.ts'
import { addFinishedHours } from '../log/log-sums.ts'
import type { LogFilterValues } from '../log/log-store.ts'
import type { LogOutbox } from '../log/outbox/outbox.ts'
import { expectBooksBalanced } from './expect-books-balanced.ts'
import { aLogRow, anAdmin, type TestUser, PASSWORD } from './factories.ts'
import type { OpenTestDatabase } from './for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  chatBody,
  eventually,
  post,
  requestIdOf,
  startRelay,
  type RelayClient,
  type RelaySetup,
} from './relay-setup.ts'
import type { TestServer } from './test-app.ts'

const HOUR = 3600

const calls: LogFilterValues = {
  type: LogType.consume,
  token_name: '',
  model_name: '',
  start_timestamp: 0,
  end_timestamp: 0,
  request_id: '',
}

export function outboxOf({ logOutbox }: Pick<TestServer, 'logOutbox'>): LogOutbox {
  if (logOutbox === null) throw new Error('there is no outbox')
  return logOutbox
}

/** Tests a log with a store of its own through the API, for relayed calls. */
export function testRelayedLog(
  openStore: () => Promise<{ url: string; drop(): Promise<void> }>,
  open: OpenTestDatabase,
): void {
  let setup: RelaySetup
  let client: RelayClient
  let admin: TestUser
  let drop: () => Promise<void>

  beforeAll(async () => {
    const store = await openStore()
    drop = store.drop
    setup = await startRelay(open, { LOG_DSN: store.url })
    client = await aClient(setup)
    admin = await anAdmin(setup)
    await saveCaptureMode(setup.database.write, client.tokenId, 'full')
    await setup.database.announce(captureMessage(client.tokenId, 'full'))
  })
  afterAll(async () => {
    await setup.close()
    await drop()
  })
  afterEach(() => expectBooksBalanced(setup.database))

  const get = async (path: string) => (await setup.call('GET', path, { as: admin })).data

  /** Waits until texts and trace of a call have been written and moved. */
  const moved = (requestId: string): Promise<unknown> =>
    eventually(async () => {
      await outboxOf(setup).look()
      const { logs } = setup.app
      const hasTexts = (await logs.requestsWithBody([requestId])).size > 0
      return hasTexts && (await logs.findTrace(requestId)) !== null
    }, 'the texts and the trace in the store')

  test('serves row, texts and route of a call from there, and keeps its booking', async () => {
    const model = aModel()
    await aRoute(setup, model, { words: 'fail-500', priority: 9 })
    await aRoute(setup, model)
    const requestId = requestIdOf(await post(setup, client, chatBody(model)))
    await moved(requestId)
    for (const table of ['logs', 'log_bodies', 'route_traces'] as const) {
      expect(await setup.database.read.selectFrom(table).selectAll().execute()).toEqual([])
    }
    await setup.database.write.transaction().execute(addAllChannelSums)
    const rows = await get(`/api/log/?request_id=${requestId}`)
    expect(rows).toMatchObject([
      { request_id: requestId, type: LogType.consume, model_name: model, has_body: true },
    ])
    const [{ id, quota }] = rows as [{ id: number; quota: number }]
    expect(await get(`/api/log/${id}`)).toMatchObject({
      request: expect.stringContaining('What is the answer?'),
      price: { model_ratio: '1' },
      token_id: client.tokenId,
      route: { outcome: 'answered' },
    })
    expect(await get(`/api/channel/route/${requestId}`)).toMatchObject({ model })
    expect(await get(`/api/log/stat?model_name=${model}`)).toMatchObject({ quota })
    expect(await get(`/api/log/stat?request_id=${requestId}`)).toMatchObject({ quota })
    const file = await setup.call(
      'GET',
      `/api/log/export/?format=ndjson&bodies=true&model_name=${model}`,
      { as: admin },
    )
    expect(JSON.parse(file.text)).toMatchObject({
      request_id: requestId,
      price: { model_ratio: '1', debt: 0 },
      request: expect.stringContaining('What is the answer?'),
    })
    expect(await get('/api/log/?request=What%20is%20the')).toMatchObject([
      { request_id: requestId },
    ])
  })

  test('deletes there what an administrator deletes, and the sums agree', async () => {
    const model = await aServedModel(setup)
    const began = setup.clock.nowSeconds()
    for (const step of [0, 1000, HOUR, 1200]) {
      setup.clock.advanceSeconds(step)
      await post(setup, client, chatBody(model))
    }
    await aLogRow(setup, { nowSeconds: began + HOUR + 1100 })
    setup.clock.advanceSeconds(4 * HOUR)
    await setup.database.write.transaction().execute(addAllChannelSums)
    await addFinishedHours(setup.app, new AbortController().signal)
    const target = began + HOUR + 1500
    await setup.call('POST', '/api/verify', { as: admin, body: { password: PASSWORD } })
    const answer = await setup.call('DELETE', `/api/log/?target_timestamp=${target}`, {
      as: admin,
    })
    expect(answer.json['success']).toBe(true)
    await outboxOf(setup).look()
    const left = await setup.app.logs.newest({ ...calls, type: LogType.all }, 100)
    expect(left.map(({ created_at }) => created_at)).toEqual([began + HOUR + 2200])
    const { quota } = await setup.app.logs.sums(calls)
    expect(quota).toBeGreaterThan(0)
    const all = `?end_timestamp=${setup.clock.nowSeconds()}`
    for (const filter of ['', all, `?model_name=${model}`]) {
      expect(await get(`/api/log/stat${filter}`)).toMatchObject({ quota })
    }
  })
}
