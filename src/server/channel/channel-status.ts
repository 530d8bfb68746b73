import { ChannelStatus } from '../../contract/channel.ts'
import { LogType } from '../../contract/log.ts'
import type { App } from '../app.ts'
import { insertLog } from '../log/log-store.ts'
import { withoutChannelSecrets } from './channel.ts'
import { moveChannelStatus, type StoredChannel } from './channel-store.ts'

interface StatusChange {
  channel: StoredChannel
  to: number
  /** Why, in Chinese, as log rows are; it may repeat what an upstream said. */
  reason: string
  requestId: string
}

/**
 * Disables or enables a channel on the program's own account: its abilities follow, a log row says
 * why, and the relay hears of it. Nothing happens when somebody has changed the status meanwhile.
 */
export async function changeStatusByProgram(
  { database, clock }: Pick<App, 'database' | 'clock'>,
  { channel, to, reason, requestId }: StatusChange,
): Promise<void> {
  const { id, status: from } = channel
  const what = to === ChannelStatus.enabled ? '已被自动启用' : '已被自动禁用'
  const moved = await database.write.transaction().execute(async (trx) => {
    if (!(await moveChannelStatus(trx, { id, from, to }))) return false
    await insertLog(trx, {
      // Nobody's row: only administrators see it.
      userId: 0,
      username: '',
      type: LogType.system,
      content: withoutChannelSecrets(
        `渠道「${channel.name ?? ''}」（#${id}）${what}：${reason}`,
        channel,
      ),
      nowSeconds: clock.nowSeconds(),
      requestId,
      channelId: id,
    })
    return true
  })
  if (moved) await database.announce('channels')
}
