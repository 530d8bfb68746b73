import { ChannelStatus } from '../../../contract/channel.ts'
import { commaList } from '../../../contract/text.ts'
import type { Database } from '../../db/database.ts'
import type { ChannelRow } from '../../db/schema.ts'
import { channelType, trimBaseUrl } from '../../../contract/channel-types.ts'
import { parseConfigObject } from '../../channel/channel-config.ts'
import { overridesOf } from '../../channel/overrides.ts'
import {
  openPauses,
  pausedAbilities,
  type ChannelPause,
} from '../../channel/channel-pause-store.ts'
import { ACCOUNT, allChannels, enabledAbilities } from '../../channel/channel-store.ts'
import { heldKeys } from '../../channel/key/channel-key.ts'
import { allKeyPauses, type KeyPause } from '../../channel/key/channel-key-store.ts'
import { sha256 } from '../../secrets.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { isKeyOff, tiersOf, type RoutableChannel, type Tiers } from './choose-channel.ts'

/** Where calls can go, as the database has it. Kept in memory and read again after every change. */
export interface ChannelMap {
  /** Channels of a group for a model, by priority. Empty: none. */
  tiers(group: string, model: string): Tiers
  /** Channels that the program has disabled and that would serve the model to the group. */
  paused(group: string, model: string): readonly PausedChannel[]
  find(id: number): RoutableChannel | undefined
  /** Every channel that names the model, enabled or not, whatever its groups. Looks at all of them. */
  naming(model: string): RoutableChannel[]
  /** Models that the enabled channels of these groups serve. */
  models(groups: readonly string[]): string[]
}

/** A channel that the program has disabled. */
export interface PausedChannel {
  channel: RoutableChannel
  /** When a real call may try it again, seconds; moves on when one has. */
  nextTrialSeconds: number
}

/**
 * Read again this often even without an announcement: somebody may have edited the database by
 * hand.
 */
const MAP_LIFE_MS = 30_000
const NO_TIERS: Tiers = []
const NO_PAUSED: readonly PausedChannel[] = []

export interface LiveChannelMap {
  /** The map with every change that has been answered so far. */
  current(): ChannelMap | Promise<ChannelMap>
}

/**
 * Of many changes in a row two readings are made: the one under way, and one that begins when it
 * has ended, for all who must see what has changed since it began.
 */
export function createChannelMap(database: Database, monotonicMs: () => number): LiveChannelMap {
  let map: ChannelMap | null = null
  let readAtMs = 0
  let generation = 0
  let reading: { of: number; map: Promise<ChannelMap> } | null = null
  let following: Promise<ChannelMap> | null = null

  database.onAnnouncement((message) => {
    if (message !== 'channels' && message !== 'everything') return
    generation += 1
    map = null
  })

  function read(): Promise<ChannelMap> {
    const of = generation
    const loaded = loadMap(database)
      .then((found) => {
        if (of === generation) {
          map = found
          readAtMs = monotonicMs()
        }
        return found
      })
      .finally(() => (reading = null))
    reading = { of, map: loaded }
    return loaded
  }

  return {
    current() {
      if (map !== null) {
        if (monotonicMs() - readAtMs > MAP_LIFE_MS && reading === null) {
          // The old map serves until the new one is there; a failed read leaves it in place.
          read().catch(ignore)
        }
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

async function loadMap({ read }: Database): Promise<ChannelMap> {
  const [channels, abilities, pauses, paused, keyPauses] = await Promise.all([
    allChannels(read),
    enabledAbilities(read),
    openPauses(read),
    pausedAbilities(read),
    allKeyPauses(read),
  ])
  return mapOf(routablesOf(channels, keyPauses), abilities, { pauses, abilities: paused })
}

type Abilities = readonly { group: string; model: string; channel_id: number }[]

function mapOf(
  routables: readonly RoutableChannel[],
  abilities: Abilities,
  paused: { pauses: readonly ChannelPause[]; abilities: Abilities },
): ChannelMap {
  const channels = new Map(routables.map((channel) => [channel.id, channel]))
  const lists = new Map<string, Map<string, RoutableChannel[]>>()
  for (const { group, model, channel_id } of abilities) {
    const channel = channels.get(channel_id)
    if (channel === undefined || !channel.isEnabled) continue
    let ofGroup = lists.get(group)
    if (ofGroup === undefined) lists.set(group, (ofGroup = new Map<string, RoutableChannel[]>()))
    const list = ofGroup.get(model)
    if (list === undefined) ofGroup.set(model, [channel])
    else list.push(channel)
  }
  const tiers = new Map<string, Map<string, Tiers>>()
  for (const [group, models] of lists) {
    tiers.set(group, new Map([...models].map(([model, list]) => [model, tiersOf(list)])))
  }
  const pausedLists = pausedListsOf(channels, paused)
  return {
    tiers: (group, model) => tiers.get(group)?.get(model) ?? NO_TIERS,
    paused: (group, model) =>
      pausedLists.size === 0 ? NO_PAUSED : (pausedLists.get(pausedKey(group, model)) ?? NO_PAUSED),
    find: (id) => channels.get(id),
    naming: (model) => routables.filter(({ models }) => models.includes(model)),
    models: (groups) => [
      ...new Set(groups.flatMap((group) => [...(tiers.get(group)?.keys() ?? [])])),
    ],
  }
}

const pausedKey = (group: string, model: string): string => JSON.stringify([group, model])

function pausedListsOf(
  channels: ReadonlyMap<number, RoutableChannel>,
  { pauses, abilities }: { pauses: readonly ChannelPause[]; abilities: Abilities },
): ReadonlyMap<string, PausedChannel[]> {
  const byId = new Map<number, PausedChannel>()
  for (const { channel_id, next_trial_at } of pauses) {
    const channel = channels.get(channel_id)
    if (channel !== undefined) byId.set(channel_id, { channel, nextTrialSeconds: next_trial_at })
  }
  const lists = new Map<string, PausedChannel[]>()
  for (const { group, model, channel_id } of abilities) {
    const paused = byId.get(channel_id)
    if (paused === undefined) continue
    const key = pausedKey(group, model)
    const list = lists.get(key)
    if (list === undefined) lists.set(key, [paused])
    else list.push(paused)
  }
  return lists
}

function routablesOf(
  rows: readonly ChannelRow[],
  keyPauses: readonly KeyPause[],
): RoutableChannel[] {
  const nameOf = (channelId: number, keyId: string): string => `${channelId} ${keyId}`
  const pauses = new Map(
    keyPauses.map((pause) => [nameOf(pause.channel_id, pause.key_id), pause.next_trial_at]),
  )
  return rows.map((row) => {
    const channel = routableOf(row)
    // Nearly every channel has one key, which needs no name.
    const keys = row.key.includes('\n') ? heldKeys(row) : []
    const [first] = keys
    if (first !== undefined) channel.key = first.key
    if (keys.length < 2) return channel
    // One key more or less says nothing of the others.
    channel.account = accountOf({ ...row, key: '' })
    channel.keyed = keys.map(({ id, key }) => {
      const nextTrialSeconds = pauses.get(nameOf(row.id, id))
      const pause = nextTrialSeconds === undefined ? null : { nextTrialSeconds }
      return { ...channel, key, keyId: id, keyed: [], pause }
    })
    const usable = channel.keyed.find((one) => !isKeyOff(one))
    if (usable !== undefined) channel.key = usable.key
    return channel
  })
}

/** A stored channel as calls know it; of several keys the stored text. */
export function routableOf(row: ChannelRow): RoutableChannel {
  return {
    id: row.id,
    type: row.type,
    key: row.key,
    keyId: '',
    account: accountOf(row),
    keyed: [],
    pause: null,
    name: row.name ?? '',
    baseUrl: trimBaseUrl(row.base_url ?? ''),
    priority: row.priority ?? 0,
    weight: Math.max(0, row.weight ?? 0),
    isEnabled: row.status === ChannelStatus.enabled,
    modelMapping: mappingOf(row.model_mapping),
    systemPrompt: row.system_prompt ?? '',
    apiVersion: apiVersionOf(row),
    config: configOf(row),
    overrides: overridesOf(parseConfigObject(row.config) ?? {}),
    testModel: row.test_model ?? '',
    models: commaList(row.models),
    row,
  }
}

const accountOf = (row: ChannelRow): string =>
  sha256(JSON.stringify(ACCOUNT.map((member) => row[member])))

/**
 * What a channel's `config` holds. Older servers keep one member in `other`, where its type says
 * so.
 */
function configOf({ type, config, other }: ChannelRow): JsonRecord {
  const members = recordOr(parseJson(config ?? ''))
  const elsewhere = channelType(type).fields.find((field) => field.alsoOther)
  if (elsewhere === undefined || !other) return members
  return { [elsewhere.config]: other.trim(), ...members }
}

/** The version in a channel's `config`; older servers keep it in `other`, where that means it. */
function apiVersionOf({ type, config, other }: ChannelRow): string {
  const asksForVersion = channelType(type).fields.some((field) => field.config === 'api_version')
  if (!asksForVersion) return ''
  const version = recordOr(parseJson(config ?? '')).api_version
  return (typeof version === 'string' && version !== '' ? version : (other ?? '')).trim()
}

/** An adopted mapping that is no JSON object of texts maps nothing. */
function mappingOf(json: string | null): ReadonlyMap<string, string> {
  if (json === null || json === '') return new Map()
  try {
    const parsed: unknown = JSON.parse(json)
    if (typeof parsed !== 'object' || parsed === null) return new Map()
    return new Map(
      Object.entries(parsed).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
      ),
    )
  } catch {
    return new Map()
  }
}
