import { ChannelStatus } from '../../../contract/channel.ts'
import type { KeyChange } from '../../../contract/route-api.ts'
import { AppError } from '../../app-error.ts'
import { recordAudit, type AuditAuthor } from '../../audit/audit-store.ts'
import type { Queries } from '../../db/database.ts'
import { channelUpdate, keySwitch } from '../channel-audit.ts'
import { tryAtOnce } from '../channel-pause-store.ts'
import { lockChannel, updateChannel, type StoredChannel } from '../channel-store.ts'
import {
  isPausedByHand,
  keyPausesOf,
  pauseKeyByHand,
  resumeKeysByHand,
  type KeyPause,
} from './channel-key-store.ts'
import { heldKeys, type HeldKey } from './channel-key.ts'

interface Held {
  channel: StoredChannel
  keys: readonly HeldKey[]
  /** Pauses by key id. */
  pauses: ReadonlyMap<string, KeyPause>
  nowSeconds: number
}

/** Pauses, resumes or removes keys of a channel manually. Returns the changed channel. */
export async function changeKeys(
  trx: Queries,
  author: AuditAuthor,
  { id, key_id, action, nowSeconds }: KeyChange & { nowSeconds: number },
): Promise<StoredChannel> {
  const channel = await lockChannel(trx, id)
  if (channel === null) throw new AppError('not_found')
  const stored = await keyPausesOf(trx, id)
  const pauses = new Map(stored.map((pause) => [pause.key_id, pause]))
  const held: Held = { channel, keys: heldKeys(channel), pauses, nowSeconds }
  if (action === 'resume_all') return resumeKeys(trx, author, held, held.keys)
  if (action === 'remove_refused') return removeKeys(trx, author, held, refusedKeys(held))
  const key = held.keys.find((one) => one.id === key_id)
  if (key === undefined) throw new AppError('not_found')
  if (action === 'resume') return resumeKeys(trx, author, held, [key])
  return action === 'pause'
    ? pauseKey(trx, author, held, key)
    : removeKeys(trx, author, held, [key])
}

const isOff = ({ pauses }: Held, { id }: HeldKey): boolean => {
  const pause = pauses.get(id)
  return pause !== undefined && isPausedByHand(pause)
}

const refusedKeys = (held: Held): HeldKey[] =>
  held.keys.filter((key) => held.pauses.has(key.id) && !isOff(held, key))

async function resumeKeys(
  trx: Queries,
  author: AuditAuthor,
  { channel, pauses, nowSeconds }: Held,
  chosen: readonly HeldKey[],
): Promise<StoredChannel> {
  const keys = chosen.filter(({ id }) => pauses.has(id))
  if (keys.length === 0) return channel
  const ids = keys.map(({ id }) => id)
  await resumeKeysByHand(trx, channel.id, ids)
  await recordAudit(trx, author, keySwitch(channel, { keys, isOn: true }, nowSeconds))
  if (channel.status === ChannelStatus.autoDisabled) await tryAtOnce(trx, channel.id)
  return channel
}

async function pauseKey(
  trx: Queries,
  author: AuditAuthor,
  held: Held,
  key: HeldKey,
): Promise<StoredChannel> {
  const { channel, keys, nowSeconds } = held
  if (isOff(held, key)) return channel
  refuseIfNoneIsOn(
    held,
    keys.filter((one) => one !== key),
  )
  await pauseKeyByHand(trx, { channel_id: channel.id, key_id: key.id }, nowSeconds)
  await recordAudit(trx, author, keySwitch(channel, { keys: [key], isOn: false }, nowSeconds))
  return channel
}

async function removeKeys(
  trx: Queries,
  author: AuditAuthor,
  held: Held,
  removed: readonly HeldKey[],
): Promise<StoredChannel> {
  const { channel, keys, nowSeconds } = held
  if (removed.length === 0) return channel
  const left = keys.filter((key) => !removed.includes(key))
  if (left.length === 0) throw new AppError('channel_key_last')
  refuseIfNoneIsOn(held, left)
  const key = left.map((one) => one.key).join('\n')
  const changed = await updateChannel(trx, channel, { key })
  await recordAudit(trx, author, channelUpdate(channel, changed, nowSeconds))
  return changed
}

/** Throws if no key would remain in use: a single remaining key would be used even if paused. */
function refuseIfNoneIsOn(held: Held, left: readonly HeldKey[]): void {
  if (left.every((key) => isOff(held, key))) throw new AppError('channel_key_last_in_use')
}
