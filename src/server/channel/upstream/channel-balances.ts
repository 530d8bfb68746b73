import type { RunState } from '../../../contract/channel-api.ts'
import { keysOf } from '../../../contract/channel-keys.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import type { Language } from '../../../contract/errors.ts'
import { logReasons, logText } from '../../../contract/log-sentences.ts'
import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import type { Egress } from '../../egress/egress.ts'
import { readBalance, statusAfterBalance, typesWithBalance } from './channel-balance.ts'
import { createChannelRun, visitFailure, type VisitFailure } from '../run/channel-run.ts'
import { pauseCauseOf } from '../channel-pause-store.ts'
import { changeStatusByProgram } from '../channel-status.ts'
import { withoutChannelSecrets } from '../secrets.ts'
import {
  channelIdsOfTypes,
  findChannel,
  saveBalance,
  type StoredChannel,
} from '../channel-store.ts'
import { withOneKey } from '../key/channel-key-store.ts'
import { createAskUpstream } from './channel-upstream.ts'

/** Reads the balances of the accounts behind channels on demand, for one channel or all. */
export interface ChannelBalances {
  /**
   * Reads, stores and returns the balance. Throws if it cannot be read; the stored value stays
   * then. Never disables the channel, because an admin sees the result, but may enable one that was
   * disabled automatically for an empty balance.
   */
  updateOne(id: number, requestId: string): Promise<number>
  /** Reads all supported balances in the background, unless a run is active. */
  startAll(requestId: string): Promise<void>
  state(language: Language): Promise<RunState>
}

/** Maximum size of a balance response in bytes. */
const ANSWER_BYTES_MAX = 2 ** 20

export function createChannelBalances(
  app: App,
  { egress, stopping }: { egress: Egress; stopping: AbortSignal | undefined },
): ChannelBalances {
  const { database, clock, options } = app
  const run = createChannelRun(app, { name: 'channel_balance', stopping })

  async function update(channel: StoredChannel): Promise<number> {
    const nowSeconds = clock.nowSeconds()
    // If a channel has several keys, the balance is read with one of them; the balances of the
    // others stay unknown.
    const { channel: asking } = await withOneKey(database.read, channel)
    const ask = createAskUpstream(egress, asking, ANSWER_BYTES_MAX)
    const balance = await readBalance({ channel: asking, ask, nowSeconds })
    await saveBalance(database.write, { id: channel.id, balance, nowSeconds })
    return balance
  }

  async function updateAndJudge(id: number, requestId: string): Promise<VisitFailure | null> {
    const channel = await findChannel(database.read, id)
    // Deleted since the run began.
    if (channel === null) return null
    const balance = await update(channel).catch((error: unknown) => {
      if (error instanceof AppError) return error
      throw error
    })
    if (balance instanceof AppError) {
      return visitFailure(channel, balance, (text) => withoutChannelSecrets(text, channel))
    }
    const to = await statusAfter(channel, balance)
    // If a channel has several keys, only one account is empty; its own errors pause that key.
    const isOnly = keysOf(channel.type, channel.key).length === 1
    if (to === ChannelStatus.autoDisabled && isOnly) {
      const reason = logText(logReasons.balance_used_up, {})
      await changeStatusByProgram(app, { channel, to, cause: 'balance', reason, requestId })
    }
    if (to === ChannelStatus.enabled) await enableAgain(channel, requestId)
    return null
  }

  /** `channel` is its state before. Returns null if the status is unchanged. */
  async function statusAfter(channel: StoredChannel, balance: number): Promise<number | null> {
    const { id, type, status, balance: before, balance_updated_time: askedSeconds } = channel
    const pausedFor = await pauseCauseOf(database.read, id)
    return statusAfterBalance({ type, status, balance: before, askedSeconds, pausedFor }, balance, {
      disables: options.flag('AutomaticDisableChannelEnabled'),
      enables: options.flag('AutomaticEnableChannelEnabled'),
    })
  }

  async function enableAgain(channel: StoredChannel, requestId: string): Promise<void> {
    const reason = logText(logReasons.balance_filled, {})
    const to = ChannelStatus.enabled
    await changeStatusByProgram(app, { channel, to, cause: 'filled', reason, requestId })
  }

  return {
    state: (language) => run.state(language),
    async updateOne(id, requestId) {
      const channel = await findChannel(database.read, id)
      if (channel === null) throw new AppError('not_found')
      const balance = await update(channel)
      if ((await statusAfter(channel, balance)) === ChannelStatus.enabled) {
        await enableAgain(channel, requestId)
      }
      return balance
    },
    async startAll(requestId) {
      await run.start({
        scope: 'all',
        ids: () => channelIdsOfTypes(database.read, typesWithBalance),
        visit: (id) => updateAndJudge(id, requestId),
      })
    },
  }
}
