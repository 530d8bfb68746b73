import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteChannels, lockChannel, updateChannel } from '../../channel/channel-store.ts'
import { pauseKeyByHand } from '../../channel/key/channel-key-store.ts'
import { aChannel } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'
import { createChannelMap } from './live-channel-map.ts'

forEachDatabase('the map of channels', (open) => {
  let server: TestServer
  let nowMs = 0
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())

  /** A map that reloads on request. `reads`: number of database queries so far. */
  function toldByHand() {
    let tell: (message: string) => void = () => {}
    let count = 0
    const database = {
      ...server.database,
      get read() {
        count += 1
        return server.database.read
      },
      onAnnouncement: (listener: (message: string) => void) => void (tell = listener),
    }
    const channels = createChannelMap(database, () => nowMs)
    return { channels, tell: (message = 'channels') => tell(message), reads: () => count }
  }

  test('shows each caller the changes announced before', async () => {
    const { channels, tell } = toldByHand()
    const seen: Promise<boolean>[] = []
    for (let count = 0; count < 6; count += 1) {
      const id = await aChannel(server)
      tell()
      seen.push(Promise.resolve(channels.current()).then((map) => map.find(id) !== undefined))
    }
    expect(await Promise.all(seen)).toEqual(Array.from({ length: 6 }, () => true))
  })

  test('reloads twice for many changes in a row', async () => {
    const { channels, tell, reads } = toldByHand()
    const id = await aChannel(server)
    const first = await channels.current()
    const before = reads()
    const asked = Array.from({ length: 8 }, () => {
      tell(`channels:${id}`)
      return channels.current()
    })
    const maps = await Promise.all(asked)
    expect(reads() - before).toBe(2)
    // No channel had changed.
    expect(new Set([first, ...maps, channels.current()]).size).toBe(1)
  })

  const edit = (
    id: number,
    change: { name?: string; key?: string; models?: string; priority?: number },
  ) =>
    server.database.write.transaction().execute(async (trx) => {
      const stored = await lockChannel(trx, id)
      if (stored !== null) await updateChannel(trx, stored, change)
    })

  // Reading thousands of channels takes a second, during which no call would be served.
  test('reloads only announced channels, and the others at the usual interval', async () => {
    const { channels, tell } = toldByHand()
    const [first, second] = [await aChannel(server), await aChannel(server)]
    const before = await channels.current()
    await edit(first, { name: 'one', models: 'model-of-one', priority: 3 })
    await edit(second, { name: 'two' })
    tell(`channels:${first}`)
    const map = await channels.current()
    expect(map.find(first)).toMatchObject({ name: 'one', priority: 3 })
    expect(map.tiers('default', 'model-of-one')).toEqual([[map.find(first)]])
    const usual = map.tiers('default', 'gpt-4o-mini').flat()
    expect(usual.map(({ id }) => id)).not.toContain(first)
    expect(usual).toContain(before.find(second))
    // A call that has chosen a channel from the old map keeps that channel.
    expect(before.tiers('default', 'model-of-one')).toEqual([])
    nowMs += 31_000
    expect(channels.current()).toBe(map)
    await expect.poll(async () => (await channels.current()).find(second)?.name).toBe('two')
    expect((await channels.current()).find(first)).toBe(map.find(first))
  })

  test('keeps unchanged channels with several keys', async () => {
    const { channels, tell } = toldByHand()
    const id = await aChannel(server)
    await edit(id, { key: 'sk-one\nsk-two' })
    tell()
    const stored = async () => (await channels.current()).find(id)
    const first = await stored()
    tell()
    expect(await stored()).toBe(first)
    const [one] = first?.keyed ?? []
    if (one === undefined) throw new Error('the keys are missing')
    // Recorded by a call in memory, and never stored.
    one.pause = { nextTrialSeconds: 7 }
    tell()
    expect((await stored())?.keyed.map(({ pause }) => pause)).toEqual([null, null])
    const pause = { channel_id: id, key_id: one.keyId }
    await pauseKeyByHand(server.database.write, pause, 1)
    tell(`channels:${id}`)
    expect(await stored()).toMatchObject({ key: 'sk-two', keyed: [{ pause: {} }, { pause: null }] })
  })

  test('removes deleted channels', async () => {
    const { channels, tell } = toldByHand()
    const id = await aChannel(server, { models: 'only-here' })
    expect((await channels.current()).models(['default'])).toContain('only-here')
    await server.database.write.transaction().execute((trx) => deleteChannels(trx, [id]))
    tell(`channels:${id}`)
    const map = await channels.current()
    expect(map.find(id)).toBeUndefined()
    expect(map.models(['default'])).not.toContain('only-here')
  })

  test('recovers from a failed reload with the next one', async () => {
    let isBroken = true
    const { read } = server.database
    const database = {
      ...server.database,
      get read() {
        if (isBroken) throw new Error('no storage')
        return read
      },
    }
    const id = await aChannel(server)
    const channels = createChannelMap(database, () => 0)
    await expect(channels.current()).rejects.toThrow('no storage')
    isBroken = false
    expect((await channels.current()).find(id)).toBeDefined()
  })
})
