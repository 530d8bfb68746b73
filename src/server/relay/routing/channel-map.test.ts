import { afterAll, beforeAll, expect, test } from 'vitest'
import { aChannel } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'
import { createChannelMap } from './channel-map.ts'

forEachDatabase('the map of channels', (open) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())

  /** A map that hears of changes when it is told. */
  function toldByHand() {
    let tell: (message: string) => void = () => {}
    const database = {
      ...server.database,
      onAnnouncement: (listener: (message: string) => void) => void (tell = listener),
    }
    const channels = createChannelMap(database, () => 0)
    return { channels, tell: () => tell('channels') }
  }

  test('shows each caller what was announced before', async () => {
    const { channels, tell } = toldByHand()
    const seen: Promise<boolean>[] = []
    for (let count = 0; count < 6; count += 1) {
      const id = await aChannel(server)
      tell()
      seen.push(Promise.resolve(channels.current()).then((map) => map.find(id) !== undefined))
    }
    expect(await Promise.all(seen)).toEqual(Array.from({ length: 6 }, () => true))
  })

  test('is read twice for many changes in a row', async () => {
    const { channels, tell } = toldByHand()
    const asked = Array.from({ length: 8 }, () => {
      tell()
      return channels.current()
    })
    const maps = await Promise.all(asked)
    expect(new Set(maps).size).toBe(2)
    expect(channels.current()).toBe(maps.at(-1))
  })
})
