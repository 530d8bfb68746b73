import { ChannelStatus } from '../../contract/channel.ts'
import { logRows, logText } from '../../contract/log-sentences.ts'
import { LogType } from '../../contract/log.ts'
import type { App } from '../app.ts'
import { insertLog } from '../log/log-store.ts'
import { announceChannels, announceGoodNews } from './notice/channel-news.ts'
import { withoutChannelSecrets, withoutKeys } from './secrets.ts'
import { beginPause, endPause, insertNotice } from './channel-pause-store.ts'
import { moveChannelStatus, type StoredChannel } from './channel-store.ts'

/** Cause of an automatic change of status, for the notice. */
export type StatusCause = 'refused' | 'slow' | 'balance' | 'tested' | 'answered' | 'filled'

interface StatusChange {
  channel: StoredChannel
  to: number
  cause: StatusCause
  /** Reason in Chinese, as in log rows; may repeat text of the upstream. */
  reason: string
  requestId: string
}

/**
 * Disables or enables a channel automatically, with its abilities. Writes a log row with the reason
 * and a notice to root, and informs the relay. Returns false without any change if the status was
 * changed meanwhile.
 */
export async function changeStatusByProgram(
  { database, clock }: Pick<App, 'database' | 'clock'>,
  { channel, to, cause, reason, requestId }: StatusChange,
): Promise<boolean> {
  const { id, status: from } = channel
  const nowSeconds = clock.nowSeconds()
  const told = withoutChannelSecrets(reason, channel)
  const words = to === ChannelStatus.enabled ? logRows.channel_enabled : logRows.channel_disabled
  const moved = await database.write.transaction().execute(async (trx) => {
    if (!(await moveChannelStatus(trx, { id, from, to }))) return false
    if (to === ChannelStatus.enabled) await endPause(trx, id)
    else await beginPause(trx, { channelId: id, cause, nowSeconds })
    const name = withoutKeys(channel.name ?? '', channel)
    const notice = { channel_id: id, name, status: to, cause, reason: told }
    await insertNotice(trx, { created_at: nowSeconds, ...notice })
    await insertLog(trx, {
      // A row without user, visible to administrators only.
      userId: 0,
      username: '',
      type: LogType.system,
      content: logText(words, { name, id, reason: told }),
      nowSeconds,
      requestId,
      channelId: id,
    })
    return true
  })
  if (moved) await announceChannels(database, [id])
  if (moved && to === ChannelStatus.enabled) await announceGoodNews(database, { ids: [id] })
  return moved
}
