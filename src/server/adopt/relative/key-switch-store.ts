import { sql } from 'kysely'
import { z } from 'zod'
import { ChannelStatus } from '../../../contract/channel.ts'
import { mayHoldSeveralKeys } from '../../../contract/channel-keys.ts'
import type { StoredChannel } from '../../channel/channel-store.ts'
import { heldKeys } from '../../channel/key/channel-key.ts'
import type { Queries } from '../../db/database.ts'
import type { FoundTables } from '../one-api-tables.ts'
import { readJson } from './json-column.ts'
import { withoutTrailing } from '../../../contract/text.ts'

/** https://github.com/QuantumNous/new-api/blob/main/model/channel.go, `ChannelInfo` */
const ChannelInfo = z.object({
  is_multi_key: z.literal(true),
  /** By position in the list; missing ones are `enabled`. */
  multi_key_status_list: z.record(z.string(), z.number()).nullish(),
})

/** State of a channel's keys in New API, for channels with several. */
export interface KeySwitches {
  channel: Pick<StoredChannel, 'id' | 'type' | 'key'>
  /** Keys that are not in use. */
  off: { keyId: string; isByHand: boolean }[]
  isAllOff: boolean
  /** Whether the keys are a JSON array, which is one key here. */
  isList: boolean
}

/** Follows a number. */
export const SWITCHED_OFF_KEYS = 'disabled keys are paused'
/** Follows `holds`. */
export const LISTED_KEYS = 'several keys as JSON, which are one key here: write one key per line'

/** Returns the channels with something to convert or report. */
export async function keySwitches(db: Queries, tables: FoundTables): Promise<KeySwitches[]> {
  if (tables.get('channels')?.has('channel_info') !== true) return []
  const { rows } = await sql<KeySwitches['channel'] & { info: string }>`
    SELECT id, type, coalesce("key", '') AS "key", CAST(channel_info AS text) AS info FROM channels
    WHERE CAST(channel_info AS text) LIKE '%is_multi_key%' ORDER BY id`.execute(db)
  return rows
    .flatMap(({ info, ...channel }): KeySwitches[] => {
      const read = readJson(ChannelInfo, info)
      return read === null ? [] : [switchesOf(channel, read.multi_key_status_list ?? {})]
    })
    .filter(({ off, isList }) => off.length > 0 || isList)
}

function switchesOf(
  channel: KeySwitches['channel'],
  statuses: Readonly<Record<string, number>>,
): KeySwitches {
  const none = { channel, off: [], isAllOff: false }
  if (channel.key.trim().startsWith('[')) return { ...none, isList: true }
  if (!mayHoldSeveralKeys(channel.type)) return { ...none, isList: false }
  // Positions as in New API: empty lines count, except at both ends.
  const lines = withoutTrailing(channel.key.replace(/^\n+/, ''), '\n').split('\n')
  const keys = lines.flatMap((line, at) => {
    const [key] = heldKeys({ ...channel, key: line })
    return key === undefined ? [] : [{ keyId: key.id, status: statuses[at] }]
  })
  const isOn = (status: number | undefined): boolean =>
    status === undefined || status === ChannelStatus.enabled
  const off = keys
    .filter(({ status }) => !isOn(status))
    .map(({ keyId, status }) => ({ keyId, isByHand: status === ChannelStatus.disabled }))
  return { channel, off, isAllOff: off.length === keys.length, isList: false }
}
