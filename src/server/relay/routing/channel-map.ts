import { ChannelStatus } from '../../../contract/channel.ts'
import { commaList } from '../../../contract/text.ts'
import type { ChannelRow } from '../../db/schema.ts'
import { channelType, trimBaseUrl } from '../../../contract/channel-types.ts'
import { parseConfigObject } from '../../channel/channel-config.ts'
import { overridesOf } from '../../channel/overrides.ts'
import { ACCOUNT } from '../../channel/channel-store.ts'
import { heldKeys } from '../../channel/key/channel-key.ts'
import type { KeyPause } from '../../channel/key/channel-key-store.ts'
import { sha256 } from '../../secrets.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { isKeyOff, tiersOf, type RoutableChannel, type Tiers } from './choose-channel.ts'

/** The channels that calls can use, as stored in the database at one moment. */
export interface ChannelMap {
  /** Returns the channels of a group for a model, by priority; empty if no channel serves it. */
  tiers(group: string, model: string): Tiers
  /** Returns channels that were disabled automatically and would serve the model to the group. */
  paused(group: string, model: string): readonly PausedChannel[]
  find(id: number): RoutableChannel | undefined
  /**
   * Returns every channel that lists the model, enabled or not, in any group. Scans all channels.
   */
  naming(model: string): RoutableChannel[]
  /** Returns the models that the enabled channels of these groups serve. */
  models(groups: readonly string[]): string[]
  /** Returns the ids of all channels in the map. */
  ids(): number[]
  /**
   * Returns a map in which these channels have their state in `now`; those missing there are
   * removed.
   */
  with(ids: readonly number[], now: ReadonlyMap<number, ChannelEntry>): ChannelMap
}

/** A channel that was disabled automatically. */
export interface PausedChannel {
  channel: RoutableChannel
  /** Unix time in seconds when a real call may try it again; moved on by each trial. */
  nextTrialSeconds: number
}

/** A stored channel with its groups and models. */
export interface ChannelEntry {
  channel: RoutableChannel
  /**
   * Models, comma-separated, that the channel serves to each group, or would serve if not paused.
   */
  served: readonly { group: string; models: string }[]
  paused: PausedChannel | null
}

const NO_TIERS: Tiers = []
const NO_PAUSED: readonly PausedChannel[] = []

type Entries = ReadonlyMap<number, ChannelEntry>
type PausedLists = ReadonlyMap<string, PausedChannel[]>
/** Tiers by group and model. */
type Routes = ReadonlyMap<string, ReadonlyMap<string, Tiers>>

export const emptyMap: ChannelMap = mapOf(new Map(), new Map())

/**
 * Returns a map. In a map of thousands of channels, unchanged parts are shared with the previous
 * map.
 */
function mapOf(entries: Entries, routes: Routes): ChannelMap {
  let lists: PausedLists | null = null
  return {
    tiers: (group, model) => routes.get(group)?.get(model) ?? NO_TIERS,
    paused(group, model) {
      lists ??= pausedListsOf(entries)
      return lists.size === 0 ? NO_PAUSED : (lists.get(pausedKey(group, model)) ?? NO_PAUSED)
    },
    find: (id) => entries.get(id)?.channel,
    naming: (model) =>
      [...entries.values()]
        .map(({ channel }) => channel)
        .filter(({ models }) => models.includes(model)),
    models: (groups) => [
      ...new Set(groups.flatMap((group) => [...(routes.get(group)?.keys() ?? [])])),
    ],
    ids: () => [...entries.keys()],
    with(ids, now) {
      const changed = ids.filter((id) => !isSame(entries.get(id), now.get(id)))
      if (changed.length === 0) return this
      const after = new Map(entries)
      for (const id of changed) {
        const entry = now.get(id)
        if (entry === undefined) after.delete(id)
        else after.set(id, entry)
      }
      return mapOf(after, routesWith(routes, changed, { before: entries, after }))
    },
  }
}

/** Columns with statistics and test results, which do not affect routing. */
const FIGURES: ReadonlySet<string> = new Set([
  'test_time',
  'response_time',
  'balance',
  'balance_updated_time',
  'used_quota',
] satisfies (keyof ChannelRow)[])

/**
 * Whether an entry is unchanged. Calls update pauses of channels in memory, possibly without
 * storing them: if memory and database differ, the database wins.
 */
function isSame(before: ChannelEntry | undefined, now: ChannelEntry | undefined): boolean {
  if (before === undefined || now === undefined) return before === now
  if (!isPausedAlike(before, now)) return false
  // A row object has exactly the table's columns as members.
  const columns = Object.keys(now.channel.row) as (keyof ChannelRow)[]
  return (
    columns.every(
      (column) => FIGURES.has(column) || before.channel.row[column] === now.channel.row[column],
    ) &&
    before.served.length === now.served.length &&
    now.served.every(({ group, models }) =>
      before.served.some((one) => one.group === group && one.models === models),
    )
  )
}

/** Whether the pauses of channel and keys are unchanged. */
function isPausedAlike(before: ChannelEntry, now: ChannelEntry): boolean {
  const trialsOf = ({ channel, paused }: ChannelEntry): (number | undefined)[] => [
    paused?.nextTrialSeconds,
    ...channel.keyed.map(({ pause }) => pause?.nextTrialSeconds),
  ]
  const trials = trialsOf(before)
  return (
    // If there are several keys, `key` is the first one in use.
    before.channel.key === now.channel.key &&
    trialsOf(now).every((trial, index) => trial === trials[index])
  )
}

/**
 * Returns the routes after some channels have changed. Only routes of models that those channels
 * serve, or served before, are rebuilt.
 */
function routesWith(
  routes: Routes,
  changed: readonly number[],
  { before, after }: { before: Entries; after: Entries },
): Routes {
  const touched = new Map<string, Map<string, RoutableChannel[]>>()
  const place = (group: string, model: string): RoutableChannel[] => {
    let ofGroup = touched.get(group)
    if (ofGroup === undefined) touched.set(group, (ofGroup = new Map<string, RoutableChannel[]>()))
    let list = ofGroup.get(model)
    if (list === undefined) ofGroup.set(model, (list = []))
    return list
  }
  for (const id of changed) {
    forEachRoute(before.get(id), place)
    forEachRoute(after.get(id), (group, model, channel) => place(group, model).push(channel))
  }
  const gone = new Set(changed)
  const all = new Map(routes)
  for (const [group, models] of touched) {
    const ofGroup = new Map(routes.get(group))
    for (const [model, added] of models) {
      const kept = (ofGroup.get(model) ?? NO_TIERS).flat().filter(({ id }) => !gone.has(id))
      const list = [...kept, ...added]
      if (list.length === 0) ofGroup.delete(model)
      else ofGroup.set(model, tiersOf(list.toSorted((a, b) => a.id - b.id)))
    }
    if (ofGroup.size === 0) all.delete(group)
    else all.set(group, ofGroup)
  }
  return all
}

function forEachRoute(
  entry: ChannelEntry | undefined,
  tell: (group: string, model: string, channel: RoutableChannel) => void,
): void {
  if (entry?.channel.isEnabled !== true) return
  for (const { group, models } of entry.served) {
    for (const model of models.split(',')) tell(group, model, entry.channel)
  }
}

const pausedKey = (group: string, model: string): string => JSON.stringify([group, model])

function pausedListsOf(entries: Entries): PausedLists {
  const lists = new Map<string, PausedChannel[]>()
  for (const { paused, served } of entries.values()) {
    if (paused === null) continue
    for (const { group, models } of served) {
      for (const model of models.split(',')) {
        const key = pausedKey(group, model)
        const list = lists.get(key)
        if (list === undefined) lists.set(key, [paused])
        else list.push(paused)
      }
    }
  }
  return lists
}

/** Returns stored channels in the form used for routing, each with one entry per key. */
export function routablesOf(
  rows: readonly ChannelRow[],
  keyPauses: readonly KeyPause[],
): RoutableChannel[] {
  const nameOf = (channelId: number, keyId: string): string => `${channelId} ${keyId}`
  const pauses = new Map(
    keyPauses.map((pause) => [nameOf(pause.channel_id, pause.key_id), pause.next_trial_at]),
  )
  return rows.map((row) => {
    const channel = routableOf(row)
    // Nearly every channel has one key, which needs no id.
    const keys = row.key.includes('\n') ? heldKeys(row) : []
    const [first] = keys
    if (first !== undefined) channel.key = first.key
    if (keys.length < 2) return channel
    // The account identity excludes the keys: adding or removing one does not affect the others.
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

/**
 * Returns a stored channel in the form used for routing; `key` holds the stored text of all keys.
 */
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
    models: commaList(row.models),
    row,
  }
}

const accountOf = (row: ChannelRow): string =>
  sha256(JSON.stringify(ACCOUNT.map((member) => row[member])))

/**
 * Returns a channel's `config` members. Older servers store one member in `other`, for channel
 * types that define one.
 */
function configOf({ type, config, other }: ChannelRow): JsonRecord {
  const members = recordOr(parseJson(config ?? ''))
  const elsewhere = channelType(type).fields.find((field) => field.alsoOther)
  if (elsewhere === undefined || !other) return members
  return { [elsewhere.config]: other.trim(), ...members }
}

/**
 * Returns the API version in a channel's `config`; older servers store it in `other`, for types
 * that have a version.
 */
function apiVersionOf({ type, config, other }: ChannelRow): string {
  const asksForVersion = channelType(type).fields.some((field) => field.config === 'api_version')
  if (!asksForVersion) return ''
  const version = recordOr(parseJson(config ?? '')).api_version
  return (typeof version === 'string' && version !== '' ? version : (other ?? '')).trim()
}

/** Parses a model mapping. An imported mapping that is not a JSON object of strings is empty. */
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
