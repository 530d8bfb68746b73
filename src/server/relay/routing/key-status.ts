import { logRows, logText } from '../../../contract/log-sentences.ts'
import { LogType } from '../../../contract/log.ts'
import type { App } from '../../app.ts'
import { announceChannels } from '../../channel/notice/channel-news.ts'
import { withoutChannelSecrets, withoutKeys } from '../../channel/secrets.ts'
import { lockChannel } from '../../channel/channel-store.ts'
import { heldKeys } from '../../channel/key/channel-key.ts'
import {
  keyPausesOf,
  moveKeyTrial,
  pauseKey,
  resumeKey,
} from '../../channel/key/channel-key-store.ts'
import { insertLog } from '../../log/log-store.ts'
import type { RelayError } from '../protocols/dialect/relay-error.ts'
import type { RoutableChannel } from './choose-channel.ts'

/** Whether the channel still has the address and key that a call used. */
export const isSameAccount = (
  stored: RoutableChannel['row'],
  { row }: Pick<RoutableChannel, 'row'>,
): boolean =>
  stored.key === row.key && stored.base_url === row.base_url && stored.config === row.config

interface Refused {
  error: RelayError
  requestId: string
}

/** Maximum stored characters of a cause. */
const CAUSE_MAX = 100

/**
 * Pauses one of a channel's keys. Returns how many are left in use; null if the channel has been
 * changed since, in which case nothing is stored.
 */
export async function setKeyAside(
  { database, clock }: Pick<App, 'database' | 'clock'>,
  used: RoutableChannel,
  { error, requestId }: Refused,
): Promise<number | null> {
  const nowSeconds = clock.nowSeconds()
  const { status } = error
  const cause = (String(error.code) || error.type).slice(0, CAUSE_MAX)
  const result = await database.write.transaction().execute(async (trx) => {
    // Locked, so that of two transactions that pause the last two keys one finds no key left.
    const channel = await lockChannel(trx, used.id)
    if (channel === null || !isSameAccount(channel, used)) return null
    const paused = new Set((await keyPausesOf(trx, used.id)).map(({ key_id }) => key_id))
    const isNew = !paused.has(used.keyId)
    await pauseKey(trx, { channel_id: used.id, key_id: used.keyId, status, cause }, nowSeconds)
    paused.add(used.keyId)
    const keys = heldKeys(channel)
    if (isNew) {
      const { tail = '' } = keys.find(({ id }) => id === used.keyId) ?? {}
      const place = { name: withoutKeys(channel.name ?? '', channel), id: used.id, tail }
      const told = withoutChannelSecrets(`${status} ${cause}`, channel)
      await insertLog(trx, {
        // The entry belongs to no user: only administrators see it.
        userId: 0,
        username: '',
        type: LogType.system,
        content: logText(logRows.key_paused, { ...place, cause: told }),
        nowSeconds,
        requestId,
        channelId: used.id,
      })
    }
    return { isNew, left: keys.filter(({ id }) => !paused.has(id)).length }
  })
  if (result?.isNew === true) await announceChannels(database, [used.id])
  return result?.left ?? null
}

/** Resumes a paused key that the upstream has accepted. */
export async function takeKeyBack(
  { database, clock }: Pick<App, 'database' | 'clock'>,
  used: RoutableChannel,
  requestId: string,
): Promise<void> {
  const nowSeconds = clock.nowSeconds()
  const isTaken = await database.write.transaction().execute(async (trx) => {
    const channel = await lockChannel(trx, used.id)
    if (channel === null || !isSameAccount(channel, used)) return false
    const { id: channelId, keyId } = used
    if (!(await resumeKey(trx, { channelId, keyId }))) return false
    const { tail = '' } = heldKeys(channel).find(({ id }) => id === keyId) ?? {}
    await insertLog(trx, {
      userId: 0,
      username: '',
      type: LogType.system,
      content: logText(logRows.key_resumed, { name: channel.name ?? '', id: channelId, tail }),
      nowSeconds,
      requestId,
      channelId,
    })
    return true
  })
  if (isTaken) await announceChannels(database, [used.id])
}

/** Stores that a call tries a paused key; the call does not wait for it. */
export const keyTrials =
  ({ database, clock, background }: Pick<App, 'database' | 'clock' | 'background'>) =>
  ({ id: channelId, keyId }: RoutableChannel, dueAt: number): void => {
    background.run('channels', 'noting the trial of a key', () =>
      moveKeyTrial(database.write, { channelId, keyId, dueAt }, clock.nowSeconds()),
    )
  }
