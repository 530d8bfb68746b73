import { beforeAll, expect, test } from 'vitest'
import { ChannelStatus } from '../../../contract/channel.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  post,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'

/** Faults of three of six channels, one phase after the other. */
const SCRIPT = [
  ['', '', ''],
  ['fail-500', 'fail-429-retry-1', ''],
  ['fail-cut', 'hang', 'fail-503'],
  ['cut-after-0', '', 'fail-429'],
  ['', 'fail-html', 'error-200'],
  ['', '', ''],
] as const
const CALLS_A_PHASE = 60

forEachDatabase('while upstreams fail, hang, cut, throttle and recover', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), {
    open,
    // Sixty calls at a time may make each slow; only silent upstreams reach these limits.
    settings: { RELAY_FIRST_BYTE_TIMEOUT: '5', RELAY_WHOLE_ANSWER_TIMEOUT: '5' },
  })
  beforeAll(async () => {
    await setup.app.options.set('AutomaticDisableChannelEnabled', 'true')
    await setup.app.options.set('RetryTimes', '3')
  })

  async function isServed(client: RelayClient, model: string, index: number): Promise<boolean> {
    if (index % 2 === 0) return (await post(setup, client, chatBody(model))).status === 200
    const answer = await stream(setup, client, chatBody(model))
    return textOf(answer.text()) === 'The answer is forty-two.'
  }

  test('every call is served and charged once, and no channel is disabled', async () => {
    const model = aModel()
    const places = Array.from({ length: 6 }, (_, index) => `at-${index}`)
    for (const words of places) await aRoute(setup, model, { words })
    const client = await aClient(setup)
    let served = 0
    for (const phase of SCRIPT) {
      for (const [index, words] of phase.entries()) setup.troubles.set(`~${places[index]}`, words)
      const calls = Array.from({ length: CALLS_A_PHASE }, (_, index) =>
        isServed(client, model, index),
      )
      served += (await Promise.all(calls)).filter(Boolean).length
    }
    expect(served).toBe(CALLS_A_PHASE * SCRIPT.length)
    await setup.app.background.idle()
    const disabled = await setup.database.read
      .selectFrom('channels')
      .select('id')
      .where('status', '<>', ChannelStatus.enabled)
      .execute()
    expect(disabled).toEqual([])
    const user = await setup.database.read
      .selectFrom('users')
      .select('request_count')
      .where('id', '=', client.userId)
      .executeTakeFirstOrThrow()
    expect(user.request_count).toBe(served)
  })
})
