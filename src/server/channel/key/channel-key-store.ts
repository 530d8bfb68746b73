import type { Selectable } from 'kysely'
import type { Queries } from '../../db/database.ts'
import type { Schema } from '../../db/schema.ts'
import { isEnabledNow } from '../notice/channel-news.ts'
import { NEVER_TRIED_SECONDS, trialDelaySeconds } from '../channel-pause-store.ts'
import { heldKeys } from './channel-key.ts'

/**
 * Which keys of channels with several are set aside, because the upstream refused them or a person
 * has paused them.
 */
export type KeyPause = Selectable<Schema['channel_key_pauses']>

/** Whether a person has paused the key: then only a person takes it back. */
export const isPausedByHand = ({ next_trial_at }: Pick<KeyPause, 'next_trial_at'>): boolean =>
  next_trial_at === NEVER_TRIED_SECONDS

/** Sets a key aside; one that is already keeps its trials, and what a person said of it. */
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

/** A person's pause, in the place of one that the key may have. */
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

/** The key was seen to be well. False: it was in use, or a person has paused it. */
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

/** A person wants these keys used again. */
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

/** Of these channels; for the relay's map. */
export const keyPausesIn = (db: Queries, ids: readonly number[]): Promise<KeyPause[]> =>
  db.selectFrom('channel_key_pauses').selectAll().where('channel_id', 'in', ids).execute()

export const keyPausesOf = (db: Queries, channelId: number): Promise<KeyPause[]> =>
  db
    .selectFrom('channel_key_pauses')
    .selectAll()
    .where('channel_id', '=', channelId)
    .orderBy('key_id')
    .execute()

/** How many keys of these channels are set aside; of none for those that are missing. */
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

/** Forgets what is known of keys of channels that are deleted. */
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
 * After a person has changed a channel: keys that it no longer holds are forgotten, and whoever
 * enables it wants its keys in use, but for those that were paused by hand; if all were, these too.
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
 * Notes that a call tries a key that is set aside, so that the next trial comes later. A trial that
 * another process has noted stands.
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
 * Sets the key that a test was refused with aside. Answers how many keys of the channel are left in
 * use.
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
 * The channel with one of its keys, for what asks beside the relayed calls: one that is in use, or
 * the one that has been set aside for longest; one that was paused by hand only where all were.
 * `keyId` is empty where it has only one.
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
