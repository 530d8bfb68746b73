import type { Selectable } from 'kysely'
import { ChannelStatus } from '../../contract/channel.ts'
import type { Queries } from '../db/database.ts'
import type { Schema } from '../db/schema.ts'
import { newHexSecret } from '../secrets.ts'

/**
 * What the program remembers of the channels that it has disabled, and whom it has still to tell.
 * Written in the transaction that changes the status.
 */

export type ChannelPause = Selectable<Schema['channel_pauses']>
export type ChannelNotice = Selectable<Schema['channel_notices']>

/**
 * Begins a pause; one that is left from before is begun anew. Calls find out whether an account is
 * still refused. Of one that is slow, or has no balance, they would be served all the same, which
 * is not what was asked: no call tries it.
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

/** A person has mended the channel: the next call tries it. */
export async function tryAtOnce(trx: Queries, channelId: number): Promise<void> {
  await trx
    .updateTable('channel_pauses')
    .set({ trials: 0, next_trial_at: 0 })
    .where('channel_id', '=', channelId)
    .execute()
}

/** Why the program has disabled the channel; null: it has not, or nothing is known of it. */
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

/** How long a disabled channel is left alone after so many trials: twice as long each time. */
export const trialDelaySeconds = (trials: number): number =>
  Math.min(TRIAL_DELAY_SECONDS * 2 ** trials, TRIAL_DELAY_SECONDS_MAX)

/** The trial of what no call is to try, as what somebody has switched off: the year 9999. */
export const NEVER_TRIED_SECONDS = 253_402_300_799

/**
 * Whether a trial's time has come. One that lies further ahead than any is put off was noted by a
 * clock that was ahead.
 */
export const isTrialDue = (nextTrialSeconds: number, nowSeconds: number): boolean =>
  nextTrialSeconds <= nowSeconds ||
  (nextTrialSeconds > nowSeconds + 2 * TRIAL_DELAY_SECONDS_MAX &&
    nextTrialSeconds !== NEVER_TRIED_SECONDS)

/** Pauses of those of these channels that are still as the program has left them. */
export const openPauses = (db: Queries, ids: readonly number[]): Promise<ChannelPause[]> =>
  db
    .selectFrom('channel_pauses')
    .innerJoin('channels', 'channels.id', 'channel_pauses.channel_id')
    .where('channels.status', '=', ChannelStatus.autoDisabled)
    .where('channel_id', 'in', ids)
    .selectAll('channel_pauses')
    .execute()

/**
 * Takes the trial that is due, so that of many processes one makes it. Answers when the next is
 * due; null: there is no pause any more.
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

/** Whether some group would be left without a channel for some model if this one went. */
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

/** The oldest that nobody has been told of. */
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
