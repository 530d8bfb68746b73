import { afterEach, beforeEach, expect, test } from 'vitest'
import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'
import { Role } from '../../contract/user.ts'
import type { LedgerOperation } from '../ledger/operations.ts'
import { aChannel } from '../test/factories.ts'
import {
  aClient,
  aServedModel,
  bookedCall,
  chatBody,
  eventsOf,
  expectNothingCharged,
  expectRefusal,
  expectRefused,
  post,
  requestIdOf,
  startRelay,
  stream,
  type RelaySetup,
} from '../test/relay-setup.ts'

/** Effects of a database that cannot write on clients, and the charges when it can again. */

let setup: RelaySetup
let failures: { kinds: LedgerOperation['kind'][]; left: number }
beforeEach(async () => {
  setup = await startRelay()
  failures = { kinds: [], left: 0 }
  const { runLedger } = setup.database
  setup.database.runLedger = (operations) => {
    const isHit = operations.some(({ kind }) => failures.kinds.includes(kind))
    if (!isHit || failures.left === 0) return runLedger(operations)
    failures.left -= 1
    return Promise.reject(Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' }))
  }
})
afterEach(() => setup.close())

test('nothing can be reserved: 503, the upstream is not asked, and nothing stays held', async () => {
  const client = await aClient(setup)
  const model = await aServedModel(setup)
  failures = { kinds: ['reserve'], left: Number.POSITIVE_INFINITY }
  const refusal = { code: 'busy', status: 503, wireCode: 'overloaded' } as const
  await expectRefused(setup, client, chatBody(model), refusal)
  expect(setup.upstream.seen()).toEqual([])
  expect(setup.faults.join()).toContain('disk full')
  failures.left = 0
  await expectNothingCharged(setup, client)
  expect((await post(setup, client, chatBody(model))).status).toBe(200)
})

test('nor is a raw call sent without a reservation', async () => {
  const client = await aClient(setup, { role: Role.admin })
  const base_url = setup.upstream.url
  const channel = await aChannel(setup, { type: ChannelTypeNumber.proxy, base_url, models: '' })
  failures = { kinds: ['reserve'], left: Number.POSITIVE_INFINITY }
  const path = `/v1/oneapi/proxy/${channel}/x`
  const refusal = { code: 'busy', status: 503, wireCode: 'overloaded' } as const
  expectRefusal(await post(setup, client, 'body', { path }), refusal)
  expect(setup.upstream.seen()).toEqual([])
  expect(setup.faults.join()).toContain('disk full')
})

test('a moment of trouble is not noticed', async () => {
  const client = await aClient(setup)
  const model = await aServedModel(setup)
  failures = { kinds: ['reserve', 'settle'], left: 2 }
  const answer = await post(setup, client, chatBody(model))
  expect(answer.status).toBe(200)
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18)
  expect(setup.faults).toEqual([])
})

test.each([false, true])(
  'what was served is booked once the storage is back, and only then answered (stream: %j)',
  async (isStream) => {
    const client = await aClient(setup)
    const model = await aServedModel(setup)
    failures = { kinds: ['settle'], left: 7 }
    const started = performance.now()
    const answer = isStream
      ? await stream(setup, client, chatBody(model))
      : await post(setup, client, chatBody(model))
    expect(failures.left).toBe(0)
    expect(performance.now() - started).toBeGreaterThan(500)
    expect(answer.status).toBe(200)
    const text = typeof answer.text === 'string' ? '' : answer.text()
    if (isStream) expect(eventsOf(text).at(-1)).toBe('[DONE]')
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18)
  },
)

test('a checkpoint that cannot be stored stops nothing', async () => {
  const client = await aClient(setup)
  const model = await aServedModel(setup, 'chunks-300+tokens-3000')
  failures = { kinds: ['checkpoint'], left: 3 }
  const answer = await stream(setup, client, chatBody(model))
  expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
  const { log } = await bookedCall(setup, requestIdOf(answer))
  expect(log.completion_tokens).toBe(3000)
})
