import type { Selectable } from 'kysely'
import type { Queries } from '../../db/database.ts'
import type { Schema } from '../../db/schema.ts'
import { isEnabledNow } from '../notice/channel-news.ts'
import { NEVER_TRIED_SECONDS, trialDelaySeconds } from '../channel-pause-store.ts'
import { heldKeys } from './channel-key.ts'

/**
 * Stores which keys of channels with several keys are paused, because the upstream refused them or
 * an admin paused them.
 */
export type KeyPause = Selectable<Schema['channel_key_pauses']>

/** Whether an admin paused the key; then only an admin can resume it. */
export const isPausedByHand = ({ next_trial_at }: Pick<KeyPause, 'next_trial_at'>): boolean =>
  next_trial_at === NEVER_TRIED_SECONDS

/** Pauses a key. A paused key keeps its trials, and a manual pause stays. */
export async function pauseKey(
  trx: Queries,
  pause: Pick<KeyPause, 'channel_id' | 'key_id' | 'status' | 'cause'>,
  nowSeconds: number,
): Promise<void> {
  const { status, cause } = pause
  await trx
    .insertInto('channel_key_pauses')
    .values({
      ...pause,
      paused_at: nowSeconds,
      trials: 0,
      next_trial_at: nowSeconds + trialDelaySeconds(0),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['channel_id', 'key_id'])
        .doUpdateSet({ status, cause })
        .where('channel_key_pauses.next_trial_at', '<>', NEVER_TRIED_SECONDS),
    )
    .execute()
}

/** Pauses a key manually; replaces an existing pause. */
export async function pauseKeyByHand(
  trx: Queries,
  key: { channel_id: number; key_id: string },
  nowSeconds: number,
): Promise<void> {
  const paused_at = nowSeconds
  const pause = { status: 0, cause: '', paused_at, trials: 0, next_trial_at: NEVER_TRIED_SECONDS }
  await trx
    .insertInto('channel_key_pauses')
    .values({ ...key, ...pause })
    .onConflict((conflict) => conflict.columns(['channel_id', 'key_id']).doUpdateSet(pause))
    .execute()
}

/** Resumes a working key. Returns false if it was in use or paused manually. */
export async function resumeKey(
  trx: Queries,
  { channelId, keyId }: { channelId: number; keyId: string },
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('channel_key_pauses')
    .where('channel_id', '=', channelId)
    .where('key_id', '=', keyId)
    .where('next_trial_at', '<>', NEVER_TRIED_SECONDS)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Resumes these keys manually. */
export async function resumeKeysByHand(
  trx: Queries,
  channelId: number,
  keyIds: readonly string[],
): Promise<void> {
  if (keyIds.length === 0) return
  await trx
    .deleteFrom('channel_key_pauses')
    .where('channel_id', '=', channelId)
    .where('key_id', 'in', keyIds)
    .execute()
}

/** Returns the pauses of these channels, for the relay's map. */
export const keyPausesIn = (db: Queries, ids: readonly number[]): Promise<KeyPause[]> =>
  db.selectFrom('channel_key_pauses').selectAll().where('channel_id', 'in', ids).execute()

export const keyPausesOf = (db: Queries, channelId: number): Promise<KeyPause[]> =>
  db
    .selectFrom('channel_key_pauses')
    .selectAll()
    .where('channel_id', '=', channelId)
    .orderBy('key_id')
    .execute()

/** Returns the number of paused keys per channel; channels without paused keys are omitted. */
export async function pausedKeyCounts(
  db: Queries,
  channelIds: readonly number[],
): Promise<Map<number, number>> {
  if (channelIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('channel_key_pauses')
    .select(['channel_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('channel_id', 'in', channelIds)
    .groupBy('channel_id')
    .execute()
  return new Map(rows.map(({ channel_id, count }) => [channel_id, Number(count)]))
}

/** Deletes the pauses of deleted channels. */
export async function forgetKeys(trx: Queries, channelIds: readonly number[]): Promise<void> {
  if (channelIds.length === 0) return
  await trx.deleteFrom('channel_key_pauses').where('channel_id', 'in', channelIds).execute()
}

interface KeyHolder {
  id: number
  type: number
  key: string
  status: number
}

/**
 * Updates pauses after a manual change of a channel: drops those of removed keys. Enabling the
 * channel resumes its keys, except manually paused ones, unless all were.
 */
export async function followChannel(
  trx: Queries,
  before: KeyHolder,
  after: KeyHolder,
): Promise<void> {
  if (isEnabledNow(before, after)) return forgetRefusals(trx, after)
  if (before.key === after.key && before.type === after.type) return
  const ids = heldKeys(after).map(({ id }) => id)
  const held = ids.length > 1 ? ids : ['']
  await trx
    .deleteFrom('channel_key_pauses')
    .where('channel_id', '=', after.id)
    .where('key_id', 'not in', held)
    .execute()
}

async function forgetRefusals(trx: Queries, channel: KeyHolder): Promise<void> {
  const pauses = await keyPausesOf(trx, channel.id)
  const held = new Set(heldKeys(channel).map(({ id }) => id))
  const byHand = pauses.filter((pause) => isPausedByHand(pause) && held.delete(pause.key_id))
  const kept = held.size === 0 ? [] : byHand.map(({ key_id }) => key_id)
  const forgotten = pauses.map(({ key_id }) => key_id).filter((id) => !kept.includes(id))
  await resumeKeysByHand(trx, channel.id, forgotten)
}

/**
 * Stores that a call tries a paused key, so that the next trial is later. A trial stored by another
 * process stays.
 */
export async function moveKeyTrial(
  db: Queries,
  { channelId, keyId, dueAt }: { channelId: number; keyId: string; dueAt: number },
  nowSeconds: number,
): Promise<void> {
  const row = await db
    .selectFrom('channel_key_pauses')
    .select('trials')
    .where('channel_id', '=', channelId)
    .where('key_id', '=', keyId)
    .where('next_trial_at', '=', dueAt)
    .executeTakeFirst()
  if (row === undefined) return
  const trials = row.trials + 1
  await db
    .updateTable('channel_key_pauses')
    .set({ trials, next_trial_at: nowSeconds + trialDelaySeconds(trials) })
    .where('channel_id', '=', channelId)
    .where('key_id', '=', keyId)
    .where('next_trial_at', '=', dueAt)
    .execute()
}

/**
 * Pauses the key that was refused in a test. Returns the number of the channel's keys that are
 * still in use.
 */
export async function pauseTestedKey(
  trx: Queries,
  channel: { id: number; type: number; key: string },
  tested: { keyId: string; status: number; cause: string },
  nowSeconds: number,
): Promise<number> {
  const { keyId: key_id, status, cause } = tested
  await pauseKey(trx, { channel_id: channel.id, key_id, status, cause }, nowSeconds)
  const paused = new Set((await keyPausesOf(trx, channel.id)).map((pause) => pause.key_id))
  return heldKeys(channel).filter(({ id }) => !paused.has(id)).length
}

/**
 * Returns the channel with one of its keys, for requests other than relayed calls: a key in use, or
 * the one paused longest; a manually paused one only if all are. `keyId` is empty if it has a
 * single key.
 */
export async function withOneKey<C extends { id: number; type: number; key: string }>(
  db: Queries,
  channel: C,
): Promise<{ channel: C; keyId: string }> {
  const keys = heldKeys(channel)
  const [first] = keys
  if (first === undefined) return { channel, keyId: '' }
  if (keys.length === 1) return { channel: { ...channel, key: first.key }, keyId: '' }
  const pauses = await keyPausesOf(db, channel.id)
  const pausedAt = new Map(
    pauses.map((pause) => [
      pause.key_id,
      isPausedByHand(pause) ? NEVER_TRIED_SECONDS : pause.paused_at,
    ]),
  )
  const [best = first] = keys.toSorted(
    (a, b) => (pausedAt.get(a.id) ?? 0) - (pausedAt.get(b.id) ?? 0),
  )
  return { channel: { ...channel, key: best.key }, keyId: best.id }
}
