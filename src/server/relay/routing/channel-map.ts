import { commaList, ChannelStatus } from '../../../contract/channel.ts'
import type { Database } from '../../db/database.ts'
import type { ChannelRow } from '../../db/schema.ts'
import { channelType, trimBaseUrl } from '../../../contract/channel-types.ts'
import { allChannels, enabledAbilities } from '../../channel/channel-store.ts'
import { parseJson, recordOr } from '../json/json-value.ts'
import { tiersOf, type RoutableChannel, type Tiers } from './choose-channel.ts'

/** Where calls can go, as the database has it. Kept in memory and read again after every change. */
export interface ChannelMap {
  /** Channels of a group for a model, by priority. Empty: none. */
  tiers(group: string, model: string): Tiers
  find(id: number): RoutableChannel | undefined
  /** Models that the enabled channels of these groups serve. */
  models(groups: readonly string[]): string[]
}

/**
 * Read again this often even without an announcement: somebody may have edited the database by
 * hand.
 */
const MAP_LIFE_MS = 30_000
const NO_TIERS: Tiers = []

export interface LiveChannelMap {
  /** The map with every change that has been answered so far. */
  current(): ChannelMap | Promise<ChannelMap>
}

export function createChannelMap(database: Database, monotonicMs: () => number): LiveChannelMap {
  let map: ChannelMap | null = null
  let loading: Promise<ChannelMap> | null = null
  let readAtMs = 0
  let generation = 0

  database.onAnnouncement((message) => {
    if (message === 'channels' || message === 'everything') {
      generation += 1
      map = null
      loading = null
    }
  })

  async function load(): Promise<ChannelMap> {
    const started = generation
    const [channels, abilities] = await Promise.all([
      allChannels(database.read),
      enabledAbilities(database.read),
    ])
    const loaded = mapOf(channels, abilities)
    if (started === generation) {
      map = loaded
      readAtMs = monotonicMs()
      loading = null
    }
    return loaded
  }

  return {
    current() {
      if (map !== null) {
        if (monotonicMs() - readAtMs > MAP_LIFE_MS && loading === null) {
          // The old map serves until the new one is there; a failed read leaves it in place.
          loading = load()
          loading.catch(() => {
            loading = null
          })
        }
        return map
      }
      loading ??= load().catch((error: unknown) => {
        loading = null
        throw error
      })
      return loading
    },
  }
}

function mapOf(
  rows: readonly ChannelRow[],
  abilities: readonly { group: string; model: string; channel_id: number }[],
): ChannelMap {
  const channels = new Map(rows.map((row) => [row.id, routable(row)]))
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
  return {
    tiers: (group, model) => tiers.get(group)?.get(model) ?? NO_TIERS,
    find: (id) => channels.get(id),
    models: (groups) => [
      ...new Set(groups.flatMap((group) => [...(tiers.get(group)?.keys() ?? [])])),
    ],
  }
}

function routable(row: ChannelRow): RoutableChannel {
  return {
    id: row.id,
    type: row.type,
    key: row.key,
    name: row.name ?? '',
    baseUrl: trimBaseUrl(row.base_url ?? ''),
    priority: row.priority ?? 0,
    weight: Math.max(0, row.weight ?? 0),
    isEnabled: row.status === ChannelStatus.enabled,
    modelMapping: mappingOf(row.model_mapping),
    systemPrompt: row.system_prompt ?? '',
    apiVersion: apiVersionOf(row),
    testModel: row.test_model ?? '',
    models: commaList(row.models),
    row,
  }
}

/** The version in a channel's `config`; older servers keep it in `other`, where that means it. */
export function apiVersionOf({ type, config, other }: ChannelRow): string {
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
