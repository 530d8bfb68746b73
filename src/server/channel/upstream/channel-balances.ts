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

/** What is left on the accounts behind channels: asked on demand, one channel or all. */
export interface ChannelBalances {
  /**
   * Asks, stores and answers the balance. Throws the refusal that says why it is not known; what
   * was stored stays then. Changes no status: a person looks at the result.
   */
  updateOne(id: number): Promise<number>
  /** Asks for all channels that can be asked, in the background, unless that is going on already. */
  startAll(requestId: string): Promise<void>
  state(language: Language): Promise<RunState>
}

/** Longest answer about a balance. */
const ANSWER_BYTES_MAX = 2 ** 20

export function createChannelBalances(
  app: App,
  { egress, stopping }: { egress: Egress; stopping: AbortSignal | undefined },
): ChannelBalances {
  const { database, clock, options } = app
  const run = createChannelRun(app, { name: 'channel_balance', stopping })

  async function update(channel: StoredChannel): Promise<number> {
    const nowSeconds = clock.nowSeconds()
    // Of several keys it is one's balance: what the others have is not known.
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
    const { type, status, balance: before, balance_updated_time: askedSeconds } = channel
    const to = statusAfterBalance(
      { type, status, balance: before, askedSeconds },
      balance,
      options.flag('AutomaticDisableChannelEnabled'),
    )
    // Of several keys one account is empty: its own refusals set that key aside.
    const isOnly = keysOf(type, channel.key).length === 1
    if (to === ChannelStatus.autoDisabled && isOnly) {
      const reason = logText(logReasons.balance_used_up, {})
      await changeStatusByProgram(app, { channel, to, cause: 'balance', reason, requestId })
    }
    return null
  }

  return {
    state: (language) => run.state(language),
    async updateOne(id) {
      const channel = await findChannel(database.read, id)
      if (channel === null) throw new AppError('not_found')
      return update(channel)
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
