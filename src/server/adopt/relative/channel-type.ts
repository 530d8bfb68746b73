import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { channelType } from '../../../contract/channel-types.ts'
import { unknownColumns, type FoundTables } from '../one-api-tables.ts'

/**
 * The programs that descend from One API number the newer providers each in its own way. Taken as
 * ours, their numbers would send a channel's key to another provider.
 */

export type Relative = 'New API' | 'One Hub'

/**
 * Columns of `channels` that only the one program has; all of a line are there, whatever its
 * version, since it began to number otherwise.
 */
const MARKS: readonly [Relative, readonly string[]][] = [
  // https://github.com/QuantumNous/new-api/blob/main/model/channel.go
  ['New API', ['auto_ban', 'status_code_mapping']],
  ['New API', ['channel_info']],
  // https://github.com/MartialBE/one-hub/blob/main/model/channel.go
  ['One Hub', ['proxy', 'only_chat']],
]

/** What tells relatives apart; a dump's are loaded for that. */
export const MARK_COLUMNS: readonly string[] = [...new Set(MARKS.flatMap(([, names]) => names))]

/** One API's, which no relative has. Behind the marks, they say that One API had it again since. */
const ONE_API_COLUMNS = ['config', 'system_prompt']

/** Which relative has written the channels; null: none, or one that cannot be told. */
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

/** What a relative's type is here. */
export interface Counterpart {
  type: number
  /** The relative's address for channels without one, where ours is another or none. */
  address?: string
  /** The relative keeps credentials or address in another form: somebody has to fill them in. */
  isIncomplete?: true
}

const same = (...types: number[]): [number, Counterpart][] => types.map((type) => [type, { type }])
const becomes = (type: number, rest: Omit<Counterpart, 'type'> = {}): Counterpart => ({
  type,
  ...rest,
})
const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

/** By the relative's number. */
const COUNTERPARTS: Record<Relative, ReadonlyMap<number, Counterpart>> = {
  // https://github.com/QuantumNous/new-api/blob/main/constant/channel.go
  'New API': new Map([
    ...same(0, 1, 3, 6, 7, ...range(9, 25), 31, 33),
    [4, becomes(ChannelTypeNumber.ollama)],
    // Its address is that of the call.
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

/** Channels of one type that do not stay as they are. */
export interface Move<C> {
  from: number
  /** Null: Gatehouse has no such provider. */
  to: Counterpart | null
  channels: C[]
}

/** By type, the lowest first. */
export function movesOf<C extends { type: number }>(
  relative: Relative,
  channels: readonly C[],
): Move<C>[] {
  // The column may be empty.
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
 * What a channel of this type has here; one without a counterpart is a custom one, whose calls go
 * to the channel's own address, and to none without one.
 */
export const typeHere = (relative: Relative, type: number): number =>
  COUNTERPARTS[relative].get(type)?.type ?? ChannelTypeNumber.custom

/** What becomes of them, for the operator: `channels of New API’s type 4 become Ollama (30)`. */
export function moveText(relative: Relative, { from, to }: Move<unknown>): string {
  const subject = `channels of ${relative}’s type ${from}`
  if (to === null) return `${subject} have no counterpart here and are disabled`
  const become = `${subject} become ${channelType(to.type).label.en} (${to.type})`
  return to.isIncomplete ? `${become}; look at their forms before the first call` : become
}

/** Up to here all relatives number alike, but for those above. */
const SHARED_TYPE_MAX = 23

/** Whether the type may mean another provider to a relative that cannot be told. */
export const mayMeanAnother = (type: number): boolean => type > SHARED_TYPE_MAX

export const hasOtherChannels = (tables: FoundTables): boolean =>
  unknownColumns(tables).some((name) => name.startsWith('channels.'))

/** After `channels`. */
export const UNTOLD_TYPES =
  'were made by a relative of One API, which may number newer types otherwise: look at their types before the first call'
