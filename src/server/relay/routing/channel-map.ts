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

/** Where calls can go, as the database had it at one moment. */
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
  /** Of every channel that is in it. */
  ids(): number[]
  /** The map with these channels as they are now; those that `now` leaves out are gone. */
  with(ids: readonly number[], now: ReadonlyMap<number, ChannelEntry>): ChannelMap
}

/** A channel that the program has disabled. */
export interface PausedChannel {
  channel: RoutableChannel
  /** When a real call may try it again, seconds; moves on when one has. */
  nextTrialSeconds: number
}

/** A channel, and where it belongs. */
export interface ChannelEntry {
  channel: RoutableChannel
  /** What it serves to each group; of a paused channel: would serve. Models with commas between. */
  served: readonly { group: string; models: string }[]
  paused: PausedChannel | null
}

const NO_TIERS: Tiers = []
const NO_PAUSED: readonly PausedChannel[] = []

type Entries = ReadonlyMap<number, ChannelEntry>
type PausedLists = ReadonlyMap<string, PausedChannel[]>
/** By group and model. */
type Routes = ReadonlyMap<string, ReadonlyMap<string, Tiers>>

export const emptyMap: ChannelMap = mapOf(new Map(), new Map())

/** A map of thousands of channels shares all that has not changed with the one before it. */
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

/** What counts what a channel has done, or was found to be, says nothing of where calls go. */
const FIGURES: ReadonlySet<string> = new Set([
  'test_time',
  'response_time',
  'balance',
  'balance_updated_time',
  'used_quota',
] satisfies (keyof ChannelRow)[])

/**
 * Whether nothing has changed. Calls note in channels with pauses what may not have been stored:
 * where the two differ, the database has the last word.
 */
function isSame(before: ChannelEntry | undefined, now: ChannelEntry | undefined): boolean {
  if (before === undefined || now === undefined) return before === now
  if (!isPausedAlike(before, now)) return false
  // The columns of a row are all the members it has.
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

/** Whether channel and keys are set aside, or in use, as they were. */
function isPausedAlike(before: ChannelEntry, now: ChannelEntry): boolean {
  const trialsOf = ({ channel, paused }: ChannelEntry): (number | undefined)[] => [
    paused?.nextTrialSeconds,
    ...channel.keyed.map(({ pause }) => pause?.nextTrialSeconds),
  ]
  const trials = trialsOf(before)
  return (
    // Of several keys the first that was in use.
    before.channel.key === now.channel.key &&
    trialsOf(now).every((trial, index) => trial === trials[index])
  )
}

/** The routes after some channels have changed; only what those serve, or have served, is made anew. */
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

/** Stored channels as calls know them, each once with each of its keys. */
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
