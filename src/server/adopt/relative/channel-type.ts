import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { channelType } from '../../../contract/channel-types.ts'
import { unknownColumns, type FoundTables } from '../one-api-tables.ts'

/**
 * Maps channel types of programs derived from One API. They number newer providers differently, so
 * taking their numbers unchanged would send a channel's key to another provider.
 */

export type Relative = 'New API' | 'One Hub'

/**
 * Columns of `channels` that identify a program: all columns of a line exist in every version since
 * its numbering differs.
 */
const MARKS: readonly [Relative, readonly string[]][] = [
  // https://github.com/QuantumNous/new-api/blob/main/model/channel.go
  ['New API', ['auto_ban', 'status_code_mapping']],
  ['New API', ['channel_info']],
  // https://github.com/MartialBE/one-hub/blob/main/model/channel.go
  ['One Hub', ['proxy', 'only_chat']],
]

/** Columns that identify related programs; a dump's are loaded for that. */
export const MARK_COLUMNS: readonly string[] = [...new Set(MARKS.flatMap(([, names]) => names))]

/**
 * Columns of One API that no related program has. After the identifying columns, they show that One
 * API has used the database since.
 */
const ONE_API_COLUMNS = ['config', 'system_prompt']

/**
 * Returns which related program has written the channels; null if none did or it cannot be
 * determined.
 */
export function relativeOf(tables: FoundTables): Relative | null {
  // In the order in which they were added.
  const found = [...(tables.get('channels') ?? [])]
  const relatives = new Set(
    MARKS.filter(([, names]) => names.every((name) => found.includes(name))).map(([one]) => one),
  )
  const [relative = null] = relatives
  const isMark = (name: string): boolean => MARK_COLUMNS.includes(name)
  const since = found.slice(found.findLastIndex(isMark) + 1)
  const isOneApi = ONE_API_COLUMNS.some((name) => since.includes(name))
  return relatives.size > 1 || isOneApi ? null : relative
}

/** Equivalent of another program's channel type. */
export interface Counterpart {
  type: number
  /** The other program's default address, if ours differs or is missing. */
  address?: string
  /** The other program stores credentials or address differently, so an admin must enter them. */
  isIncomplete?: true
}

const same = (...types: number[]): [number, Counterpart][] => types.map((type) => [type, { type }])
const becomes = (type: number, rest: Omit<Counterpart, 'type'> = {}): Counterpart => ({
  type,
  ...rest,
})
const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

/** By the other program's number. */
const COUNTERPARTS: Record<Relative, ReadonlyMap<number, Counterpart>> = {
  // https://github.com/QuantumNous/new-api/blob/main/constant/channel.go
  'New API': new Map([
    ...same(0, 1, 3, 6, 7, ...range(9, 25), 31, 33),
    [4, becomes(ChannelTypeNumber.ollama)],
    // Its address is the full URL of the call.
    [8, becomes(ChannelTypeNumber.custom, { isIncomplete: true })],
    [26, becomes(ChannelTypeNumber.zhipu)],
    [27, becomes(ChannelTypeNumber.openaiCompatible, { address: 'https://api.perplexity.ai' })],
    [34, becomes(ChannelTypeNumber.cohere)],
    [35, becomes(ChannelTypeNumber.minimax)],
    [38, becomes(ChannelTypeNumber.custom, { address: 'https://api.jina.ai' })],
    [39, becomes(ChannelTypeNumber.cloudflare, { isIncomplete: true })],
    [40, becomes(ChannelTypeNumber.siliconflow)],
    [41, becomes(ChannelTypeNumber.vertex, { isIncomplete: true })],
    [42, becomes(ChannelTypeNumber.mistral)],
    [43, becomes(ChannelTypeNumber.deepseek)],
    [45, becomes(ChannelTypeNumber.volcengineArk)],
    [46, becomes(ChannelTypeNumber.qianfanV2)],
    [47, becomes(ChannelTypeNumber.custom)], // Xinference
    [48, becomes(ChannelTypeNumber.xai)],
    [49, becomes(ChannelTypeNumber.coze, { address: 'https://api.coze.cn', isIncomplete: true })],
    [53, becomes(ChannelTypeNumber.custom, { address: 'https://llm.submodel.ai' })],
    [56, becomes(ChannelTypeNumber.replicate)],
  ]),
  // https://github.com/MartialBE/one-hub/blob/main/common/config/constants.go
  'One Hub': new Map([
    ...same(...range(0, 23), 26, 27),
    [25, becomes(ChannelTypeNumber.gemini)],
    [28, becomes(ChannelTypeNumber.deepseek)],
    [29, becomes(ChannelTypeNumber.moonshot)],
    [30, becomes(ChannelTypeNumber.mistral)],
    [31, becomes(ChannelTypeNumber.groq)],
    // Its key begins with the region.
    [32, becomes(ChannelTypeNumber.bedrock, { isIncomplete: true })],
    [33, becomes(ChannelTypeNumber.lingyi)],
    [35, becomes(ChannelTypeNumber.cloudflare, { isIncomplete: true })],
    [36, becomes(ChannelTypeNumber.cohere)],
    [38, becomes(ChannelTypeNumber.coze, { isIncomplete: true })],
    [39, becomes(ChannelTypeNumber.ollama)],
    [40, becomes(ChannelTypeNumber.hunyuan, { isIncomplete: true })],
    [42, becomes(ChannelTypeNumber.vertex, { isIncomplete: true })],
    [45, becomes(ChannelTypeNumber.siliconflow)],
    [47, becomes(ChannelTypeNumber.custom, { address: 'https://api.jina.ai' })],
    [52, becomes(ChannelTypeNumber.replicate)],
    [56, becomes(ChannelTypeNumber.xai)],
  ]),
}

/** Channels of one type that change. */
export interface Move<C> {
  from: number
  /** Null if Gatehouse has no such provider. */
  to: Counterpart | null
  channels: C[]
}

/** Returns the changes by type, lowest first. */
export function movesOf<C extends { type: number }>(
  relative: Relative,
  channels: readonly C[],
): Move<C>[] {
  // The column may be null.
  const byType = Map.groupBy(channels, ({ type }) => Number(type))
  return [...byType]
    .map(([from, some]) => ({
      from,
      to: COUNTERPARTS[relative].get(from) ?? null,
      channels: some,
    }))
    .filter(({ from, to }) => to?.type !== from || to.isIncomplete === true)
    .toSorted((a, b) => a.from - b.from)
}

/**
 * Returns the type of a channel in this program. A type without a counterpart becomes a custom one,
 * whose calls only go to the channel's own address.
 */
export const typeHere = (relative: Relative, type: number): number =>
  COUNTERPARTS[relative].get(type)?.type ?? ChannelTypeNumber.custom

/** Describes a change for the operator: `channels of New API’s type 4 become Ollama (30)`. */
export function moveText(relative: Relative, { from, to }: Move<unknown>): string {
  const subject = `channels of ${relative}’s type ${from}`
  if (to === null) return `${subject} have no counterpart here and are disabled`
  const become = `${subject} become ${channelType(to.type).label.en} (${to.type})`
  return to.isIncomplete ? `${become}; check their forms before the first call` : become
}

/** Up to this number all related programs agree, except for those above. */
const SHARED_TYPE_MAX = 23

/** Whether the type may mean another provider in an unknown related program. */
export const mayMeanAnother = (type: number): boolean => type > SHARED_TYPE_MAX

export const hasOtherChannels = (tables: FoundTables): boolean =>
  unknownColumns(tables).some((name) => name.startsWith('channels.'))

/** Follows `channels`. */
export const UNTOLD_TYPES =
  'come from a program related to One API, which may number newer types differently: check their types before the first call'
