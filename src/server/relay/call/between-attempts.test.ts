import { expect, test } from 'vitest'
import { setTimeout as passed } from 'node:timers/promises'
import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  expectNothingCharged,
  expectRefusal,
  post,
  startRelay,
  startScriptedUpstream,
} from '../../test/relay-setup.ts'
import { lockUser } from '../../user/user-store.ts'

/** Longer than the call may take. */
const LOCKED_MS = 1800

forEachDatabase('between two channels', (open) => {
  // The second one is dearer, so points are reserved first, which takes long here.
  test('a call that has taken too long ends, and asks no other channel', async () => {
    const setup = await startRelay(open, { RELAY_TIMEOUT: '1' })
    const client = await aClient(setup)
    const model = aModel()
    const prices = { [model]: 1, [`${model}(${ChannelTypeNumber.deepseek})`]: 3 }
    await setup.app.options.set('ModelRatio', JSON.stringify(prices))
    let locked: Promise<void> | null = null
    const failing = await startScriptedUpstream((_request, response) => {
      const isHeld = Promise.withResolvers<void>()
      locked = setup.database.write.transaction().execute(async (trx) => {
        await lockUser(trx, client.userId)
        isHeld.resolve()
        await passed(LOCKED_MS)
      })
      void isHeld.promise.then(() => response.writeHead(500).end())
    })
    await aRoute(setup, model, { base_url: failing.url, priority: 1 })
    await aRoute(setup, model, { type: ChannelTypeNumber.deepseek, words: 'second' })
    const refusal = { code: 'upstream_timeout', status: 504 } as const
    expectRefusal(await post(setup, client, chatBody(model)), refusal)
    expect(setup.upstream.seen()).toEqual([])
    await locked
    await expectNothingCharged(setup, client)
    await failing.close()
    await setup.close()
  })
})
