import type { Selectable } from 'kysely'
import { ChannelStatus } from '../../contract/channel.ts'
import type { Queries } from '../db/database.ts'
import type { Schema } from '../db/schema.ts'
import { newHexSecret } from '../secrets.ts'

/**
 * Stores the state of automatically disabled channels and pending notices to root. Written in the
 * transaction that changes the status.
 */

export type ChannelPause = Selectable<Schema['channel_pauses']>
export type ChannelNotice = Selectable<Schema['channel_notices']>

/**
 * Starts a pause; replaces an earlier one. Calls test whether an account is still refused. A
 * channel that is slow or has no balance would serve them, against the operator's setting, so no
 * call tries it.
 */
export async function beginPause(
  trx: Queries,
  { channelId, cause, nowSeconds }: { channelId: number; cause: string; nowSeconds: number },
): Promise<void> {
  const pause = { cause, paused_at: nowSeconds, trials: 0 }
  const next_trial_at =
    cause === 'refused' ? nowSeconds + trialDelaySeconds(0) : NEVER_TRIED_SECONDS
  await trx
    .insertInto('channel_pauses')
    .values({ channel_id: channelId, ...pause, next_trial_at })
    .onConflict((conflict) =>
      conflict.column('channel_id').doUpdateSet({ ...pause, next_trial_at }),
    )
    .execute()
}

/** Schedules a trial with the next call, after an admin has repaired the channel. */
export async function tryAtOnce(trx: Queries, channelId: number): Promise<void> {
  await trx
    .updateTable('channel_pauses')
    .set({ trials: 0, next_trial_at: 0 })
    .where('channel_id', '=', channelId)
    .execute()
}

/**
 * Returns why the channel was disabled automatically, or null if it was not or the cause is
 * unknown.
 */
export async function pauseCauseOf(db: Queries, channelId: number): Promise<string | null> {
  const pause = await db
    .selectFrom('channel_pauses')
    .innerJoin('channels', 'channels.id', 'channel_pauses.channel_id')
    .select('cause')
    .where('channel_id', '=', channelId)
    .where('channels.status', '=', ChannelStatus.autoDisabled)
    .executeTakeFirst()
  return pause?.cause ?? null
}

export async function endPause(trx: Queries, channelId: number): Promise<void> {
  await trx.deleteFrom('channel_pauses').where('channel_id', '=', channelId).execute()
}

const TRIAL_DELAY_SECONDS = 300
const TRIAL_DELAY_SECONDS_MAX = 6 * 3600

/**
 * Returns the delay before the next trial of a disabled channel, in seconds; it doubles with each
 * trial.
 */
export const trialDelaySeconds = (trials: number): number =>
  Math.min(TRIAL_DELAY_SECONDS * 2 ** trials, TRIAL_DELAY_SECONDS_MAX)

/** Time of a trial that calls must never make, as for a manual pause: the year 9999. */
export const NEVER_TRIED_SECONDS = 253_402_300_799

/**
 * Whether a trial is due. A time that is further ahead than the longest delay was stored while the
 * clock was wrong, and is due too.
 */
export const isTrialDue = (nextTrialSeconds: number, nowSeconds: number): boolean =>
  nextTrialSeconds <= nowSeconds ||
  (nextTrialSeconds > nowSeconds + 2 * TRIAL_DELAY_SECONDS_MAX &&
    nextTrialSeconds !== NEVER_TRIED_SECONDS)

/** Returns the pauses of those channels that are still automatically disabled. */
export const openPauses = (db: Queries, ids: readonly number[]): Promise<ChannelPause[]> =>
  db
    .selectFrom('channel_pauses')
    .innerJoin('channels', 'channels.id', 'channel_pauses.channel_id')
    .where('channels.status', '=', ChannelStatus.autoDisabled)
    .where('channel_id', 'in', ids)
    .selectAll('channel_pauses')
    .execute()

/**
 * Claims a due trial, so that only one of several processes makes it. Returns the time of the next
 * one, or null if the pause has ended.
 */
export async function takeTrial(
  db: Queries,
  { channelId, dueAt, nowSeconds }: { channelId: number; dueAt: number; nowSeconds: number },
): Promise<{ isOurs: boolean; nextTrialAt: number } | null> {
  const row = await db
    .selectFrom('channel_pauses')
    .select(['trials', 'next_trial_at'])
    .where('channel_id', '=', channelId)
    .executeTakeFirst()
  if (row === undefined) return null
  if (row.next_trial_at !== dueAt) return { isOurs: false, nextTrialAt: row.next_trial_at }
  const trials = row.trials + 1
  const nextTrialAt = nowSeconds + trialDelaySeconds(trials)
  const taken = await db
    .updateTable('channel_pauses')
    .set({ trials, next_trial_at: nextTrialAt })
    .where('channel_id', '=', channelId)
    .where('next_trial_at', '=', dueAt)
    .executeTakeFirst()
  return { isOurs: taken.numUpdatedRows > 0n, nextTrialAt }
}

/** Whether a model of a group would have no channel without this one. */
export async function isLastOfSomething(db: Queries, channelId: number): Promise<boolean> {
  const row = await db
    .selectFrom('abilities as own')
    .select('own.model')
    .where('own.channel_id', '=', channelId)
    .where('own.enabled', '=', true)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('abilities as other')
            .select('other.model')
            .whereRef('other.group', '=', 'own.group')
            .whereRef('other.model', '=', 'own.model')
            .where('other.enabled', '=', true)
            .where('other.channel_id', '<>', channelId),
        ),
      ),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertNotice(trx: Queries, notice: Omit<ChannelNotice, 'id'>): Promise<void> {
  await trx
    .insertInto('channel_notices')
    .values({ id: newHexSecret(), ...notice })
    .execute()
}

/** Returns the oldest pending notices. */
export const openNotices = (db: Queries, limit: number): Promise<ChannelNotice[]> =>
  db
    .selectFrom('channel_notices')
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute()

export async function deleteNotices(db: Queries, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await db.deleteFrom('channel_notices').where('id', 'in', ids).execute()
}
