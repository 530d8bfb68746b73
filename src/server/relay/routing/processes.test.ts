import { afterAll, beforeAll, expect, test } from 'vitest'
import { aChannel, anAdmin } from '../../test/factories.ts'
import { forEachDatabase, type DatabaseLocation } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  chatBody,
  eventually,
  expectAllWell,
  post,
  requestIdOf,
  startRelay,
  type RelaySetup,
} from '../../test/relay-setup.ts'

/**
 * On PostgreSQL two processes share the database; SQLite has a single process, which stands for
 * both.
 */
forEachDatabase('processes behind a balancer', (open) => {
  let location: DatabaseLocation
  let first: RelaySetup
  let second: RelaySetup
  beforeAll(async () => {
    location = await open()
    first = await startRelay(() => Promise.resolve(location))
    second =
      location.engine === 'postgres' ? await startRelay(() => Promise.resolve(location)) : first
  })
  afterAll(async () => {
    await expectAllWell(first)
    if (second !== first) await second.close()
    await first.close()
  })

  test('send a conversation to the same channel and key, by its name or its beginning', async () => {
    const model = aModel()
    for (const name of ['a', 'b', 'c']) {
      const key = `sk-${name}-1\nsk-${name}-2`
      await aChannel(first, { base_url: first.upstream.url, models: model, key })
    }
    const client = await aClient(first)
    const conversations = Array.from({ length: 12 }, (_, index) => {
      const said = { role: 'user', content: `question ${index}` }
      const messages = [said, { role: 'assistant', content: 'So.' }, said]
      return [{ prompt_cache_key: `k${index}` }, { messages }]
    }).flat()
    const usedBy = async (setup: RelaySetup): Promise<string[]> => {
      first.upstream.seen()
      for (const over of conversations) {
        expect((await post(setup, client, chatBody(model, over))).status).toBe(200)
      }
      return first.upstream.seen().map(({ headers }) => String(headers.authorization))
    }
    const used = await usedBy(first)
    expect(new Set(used).size).toBeGreaterThan(3)
    expect(await usedBy(second)).toEqual(used)
  })

  test('all learn that a channel has recovered', async () => {
    const model = aModel()
    const place = `at-${model}`
    const id = await aRoute(first, model, { words: place, priority: 9 })
    await aRoute(first, model)
    const client = await aClient(first)
    const servedBy = async (): Promise<number | null> => {
      const answer = await post(second, client, chatBody(model))
      return (await bookedCall(second, requestIdOf(answer))).log.channel_id
    }
    first.troubles.set(`~${place}`, 'fail-429-retry-600')
    expect(await servedBy()).not.toBe(id)
    first.troubles.set(`~${place}`, '')
    expect(await servedBy()).not.toBe(id)
    const tested = await first.call('GET', `/api/channel/test/${id}`, { as: await anAdmin(first) })
    expect(tested.json).toMatchObject({ success: true })
    await eventually(async () => (await servedBy()) === id, 'a call to the channel')
  })
})
