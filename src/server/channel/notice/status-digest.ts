import { ChannelStatus } from '../../../contract/channel.ts'
import { consoleAddress } from '../../account/console-address.ts'
import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { moveSetting, readOrCreateSetting } from '../../db/setting-store.ts'
import { channelStatusLetter, type ChannelChange } from '../../mail/letter.ts'
import { systemName } from '../../mail/mailer.ts'
import { notifyRoot } from '../../mail/notice.ts'
import type { StatusCause } from '../channel-status.ts'
import { changedChannelsIn } from './channel-news.ts'
import { deleteNotices, openNotices, type ChannelNotice } from '../channel-pause-store.ts'

/**
 * Sends one letter to root about automatic changes of channels, even if many fail together. Changes
 * are stored as rows and collected for a minute; one of all processes sends them. A letter that
 * cannot be sent is retried; if no recipient is configured, the rows are deleted.
 */

/** Milliseconds for which changes are collected. */
const COLLECT_MS = 60_000
/** Minimum seconds between two letters. */
const PAUSE_SECONDS = 600
/** Maximum number of changes per letter. */
const CHANGES_MAX = 100
const SETTING = 'channel_digest_at'

export interface StatusDigest {
  stop(): void
}

/** Listens to changes of channels. `collectMs`: milliseconds for which they are collected. */
export function startStatusDigest(app: App, collectMs = COLLECT_MS): StatusDigest {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function later(delayMs: number): void {
    if (isStopped) return
    timer ??= setTimeout(() => {
      timer = undefined
      const isAccepted = app.background.run('mail', 'mail about channels', async () => {
        let isDone = false
        try {
          isDone = await sendStatusDigest(app)
        } finally {
          if (!isDone) later(PAUSE_SECONDS * 1000)
        }
      })
      if (!isAccepted) later(PAUSE_SECONDS * 1000)
    }, delayMs).unref()
  }

  app.database.onAnnouncement((message) => {
    if (changedChannelsIn(message) !== null) later(collectMs)
  })
  // For changes that a dead process has not reported.
  later(collectMs)
  return {
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** Sends the pending changes to root. Returns false if some remain for a later letter. */
export async function sendStatusDigest(app: App): Promise<boolean> {
  const { database, clock } = app
  const notices = await openNotices(database.read, CHANGES_MAX)
  if (notices.length === 0) return true
  const from = await readOrCreateSetting(database.write, SETTING, '0')
  const nowSeconds = clock.nowSeconds()
  // A last letter in the future was sent by a clock that was ahead.
  if (Math.abs(nowSeconds - Number(from)) < PAUSE_SECONDS) return false
  if (!(await moveSetting(database.write, SETTING, { from, to: String(nowSeconds) }))) return false
  const letter = channelStatusLetter(systemName(app), {
    changes: notices.map(changeOf),
    url: consoleAddress(app, '/channel'),
  })
  try {
    await notifyRoot(app, letter)
  } catch (error) {
    const reachesNobody =
      error instanceof AppError && ['root_without_email', 'mail_unset'].includes(error.code)
    if (!reachesNobody) throw error
  }
  await deleteNotices(
    database.write,
    notices.map(({ id }) => id),
  )
  return notices.length < CHANGES_MAX
}

const CAUSES_EN: Record<StatusCause, string> = {
  refused: 'the upstream refuses its key or account',
  slow: 'it answers too slowly',
  balance: 'its upstream balance is used up',
  tested: 'a test succeeded',
  answered: 'it has answered a call again',
  filled: 'its upstream balance has recovered',
}

const changeOf = (notice: ChannelNotice): ChannelChange => ({
  id: notice.channel_id,
  name: notice.name,
  isEnabled: notice.status === ChannelStatus.enabled,
  // Only this program writes the column.
  reason: { zh: notice.reason, en: CAUSES_EN[notice.cause as StatusCause] },
})
