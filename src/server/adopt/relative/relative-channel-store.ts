import { ChannelStatus } from '../../../contract/channel.ts'
import { NEVER_TRIED_SECONDS, trialDelaySeconds } from '../../channel/channel-pause-store.ts'
import {
  allChannels,
  moveChannelStatus,
  switchChannels,
  type StoredChannel,
} from '../../channel/channel-store.ts'
import type { Queries } from '../../db/database.ts'
import type { FoundTables } from '../one-api-tables.ts'
import {
  hasOtherChannels,
  mayMeanAnother,
  movesOf,
  moveText,
  relativeOf,
  typeHere,
  UNTOLD_TYPES,
  type Relative,
} from './channel-type.ts'
import { keySwitches, LISTED_KEYS, SWITCHED_OFF_KEYS } from './key-switch-store.ts'

/** Converts channels of a related program. Each function returns one line per change. */

interface Adopted {
  /** Tables as found before adoption. */
  tables: FoundTables
  nowSeconds: number
}

/** Converts types and disabled keys. Runs after the migrations. */
export async function carryChannels(trx: Queries, adopted: Adopted): Promise<string[]> {
  const relative = relativeOf(adopted.tables)
  const channels = await allChannels(trx)
  if (relative !== null) {
    const lines = await carryTypes(trx, relative, channels)
    return [...lines, ...(await carryKeySwitches(trx, adopted))]
  }
  const odd = channels.filter(({ type }) => mayMeanAnother(type))
  if (!hasOtherChannels(adopted.tables) || odd.length === 0) return []
  return [`channels ${UNTOLD_TYPES}: ${idsOf(odd)}`]
}

const idsOf = (channels: readonly { id: number }[]): string =>
  channels.map(({ id }) => id).join(', ')

async function carryTypes(
  trx: Queries,
  relative: Relative,
  channels: readonly StoredChannel[],
): Promise<string[]> {
  const moves = movesOf(relative, channels)
  for (const { from, to, channels: moved } of moves) {
    for (const { id, base_url } of moved) {
      const isWithout = (base_url ?? '').trim() === ''
      await trx
        .updateTable('channels')
        .set({
          // If an admin enables a channel without a counterpart, its key is only sent to its own
          // address.
          type: typeHere(relative, from),
          ...(to?.address === undefined || !isWithout ? {} : { base_url: to.address }),
        })
        .where('id', '=', id)
        .execute()
    }
    if (to === null) await switchChannels(trx, moved, ChannelStatus.disabled)
  }
  return moves.map((move) => `${moveText(relative, move)}: ${idsOf(move.channels)}`)
}

/** Pauses the keys of a channel that are disabled in New API. */
async function carryKeySwitches(trx: Queries, { tables, nowSeconds }: Adopted): Promise<string[]> {
  const lines: string[] = []
  for (const { channel, off, isAllOff, isList } of await keySwitches(trx, tables)) {
    if (isList) lines.push(`channel ${channel.id} holds ${LISTED_KEYS}`)
    for (const { keyId, isByHand } of off) {
      await trx
        .insertInto('channel_key_pauses')
        .values({
          channel_id: channel.id,
          key_id: keyId,
          status: 0,
          cause: isByHand ? 'switched off in New API' : 'disabled by New API',
          paused_at: nowSeconds,
          trials: 0,
          next_trial_at: isByHand ? NEVER_TRIED_SECONDS : nowSeconds + trialDelaySeconds(0),
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
    if (off.length > 0) lines.push(`channel ${channel.id}: ${off.length} ${SWITCHED_OFF_KEYS}`)
    // A channel with all keys paused would use them nevertheless.
    const switched = { from: ChannelStatus.enabled, to: ChannelStatus.disabled }
    if (isAllOff && (await moveChannelStatus(trx, { id: channel.id, ...switched }))) {
      lines.push(`channel ${channel.id} has no enabled key and was disabled`)
    }
  }
  return lines
}
