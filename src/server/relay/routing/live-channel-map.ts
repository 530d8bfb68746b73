import type { Database } from '../../db/database.ts'
import { openPauses } from '../../channel/channel-pause-store.ts'
import { channelIdsIn, findChannels, abilitiesOf } from '../../channel/channel-store.ts'
import { keyPausesIn } from '../../channel/key/channel-key-store.ts'
import { changedChannelsIn } from '../../channel/notice/channel-news.ts'
import { emptyMap, routablesOf, type ChannelEntry, type ChannelMap } from './channel-map.ts'

/** The channel map in memory, kept in sync with the database. */
export interface LiveChannelMap {
  /** Returns the map with every change that has been acknowledged so far. */
  current(): ChannelMap | Promise<ChannelMap>
}

/** Interval of full reloads without an announcement, in case the database was edited directly. */
const MAP_LIFE_MS = 30_000
/** Channels per query; between two queries other database users and calls get a turn. */
const CHANNELS_AT_ONCE = 50

/**
 * Creates the channel map. Many changes in a row cause two reloads: the running one, and one that
 * starts after it for all callers that need the changes made since. A reload reads only the changed
 * channels; calls wait for nothing else.
 */
export function createChannelMap(database: Database, monotonicMs: () => number): LiveChannelMap {
  let map = emptyMap
  /** Ids of changed channels that no reload has read yet. */
  let changed: Set<number> | 'all' = 'all'
  let generation = 1
  /** The generation that the map contains. */
  let mapOf = 0
  let reading: { of: number; map: Promise<ChannelMap> } | null = null
  let following: Promise<ChannelMap> | null = null
  let allReadAtMs = 0
  let isReadingAll = false
  /** Parts are read one after the other: an older result must not replace a newer one. */
  let part: Promise<unknown> = Promise.resolve()

  database.onAnnouncement((message) => {
    const ids = changedChannelsIn(message)
    if (ids === null) return
    generation += 1
    note(ids)
  })

  function note(ids: Iterable<number> | 'all'): void {
    if (ids === 'all') changed = 'all'
    else if (changed !== 'all') for (const id of ids) changed.add(id)
  }

  async function readParts(ids: readonly number[]): Promise<void> {
    for (let start = 0; start < ids.length; start += CHANNELS_AT_ONCE) {
      const some = ids.slice(start, start + CHANNELS_AT_ONCE)
      const merged = part.catch(ignore).then(async () => {
        map = map.with(some, await readEntries(database, some))
      })
      part = merged
      await merged
    }
  }

  /** Reads in order, so that the first map lists models in the order of the database. */
  async function readAll(): Promise<void> {
    const ids = new Set([...(await channelIdsIn(database.read, 'all')), ...map.ids()])
    await readParts([...ids].toSorted((a, b) => a - b))
    allReadAtMs = monotonicMs()
  }

  function read(): Promise<ChannelMap> {
    const of = generation
    const what = changed
    changed = new Set()
    const loaded = (what === 'all' ? readAll() : readParts([...what]))
      .then(
        () => {
          mapOf = of
          return map
        },
        (error: unknown) => {
          note(what)
          throw error
        },
      )
      .finally(() => (reading = null))
    reading = { of, map: loaded }
    return loaded
  }

  /**
   * Reloads everything in the background. The old map stays in use meanwhile and after a failure.
   */
  function readAllBeside(): void {
    isReadingAll = true
    readAll()
      .catch(ignore)
      .finally(() => (isReadingAll = false))
  }

  return {
    current() {
      if (mapOf === generation) {
        if (!isReadingAll && monotonicMs() - allReadAtMs > MAP_LIFE_MS) readAllBeside()
        return map
      }
      if (reading === null) return read()
      if (reading.of === generation) return reading.map
      following ??= reading.map.catch(ignore).then(() => {
        following = null
        return reading?.of === generation ? reading.map : read()
      })
      return following
    },
  }
}

const ignore = (): void => {}

/** Returns the entries of those channels that exist. */
async function readEntries(
  { read }: Database,
  ids: readonly number[],
): Promise<Map<number, ChannelEntry>> {
  const [rows, served, pauses, keyPauses] = await Promise.all([
    findChannels(read, ids),
    abilitiesOf(read, ids),
    openPauses(read, ids),
    keyPausesIn(read, ids),
  ])
  const servedBy = Map.groupBy(served, ({ channel_id }) => channel_id)
  const pausedUntil = new Map(pauses.map((pause) => [pause.channel_id, pause.next_trial_at]))
  return new Map(
    routablesOf(rows, keyPauses).map((channel) => {
      const nextTrialSeconds = pausedUntil.get(channel.id)
      const paused = nextTrialSeconds === undefined ? null : { channel, nextTrialSeconds }
      const own = servedBy.get(channel.id) ?? []
      return [
        channel.id,
        { channel, paused, served: own.filter(({ enabled }) => enabled === channel.isEnabled) },
      ]
    }),
  )
}
