import { ChannelStatus } from '../../../contract/channel.ts'
import { logReasons, logText } from '../../../contract/log-sentences.ts'
import type { App } from '../../app.ts'
import {
  isLastOfSomething,
  isTrialDue,
  takeTrial,
  trialDelaySeconds,
} from '../../channel/channel-pause-store.ts'
import { changeStatusByProgram } from '../../channel/channel-status.ts'
import { findChannel } from '../../channel/channel-store.ts'
import type { RelayError } from '../protocols/dialect/relay-error.ts'
import { disablingOf } from '../errors/verdict.ts'
import type { PausedChannel } from './channel-map.ts'
import type { RoutableChannel } from './choose-channel.ts'
import { isSameAccount, setKeyAside, takeKeyBack } from './key-status.ts'

/**
 * Disables channels whose account or key is refused, and enables them again, both based on real
 * calls.
 *
 * - A refusal that names such a reason counts immediately. One without a reason (a bare 401) counts
 *   after two users, or one user five times, met it within five minutes without a successful call
 *   between; it never disables the last channel that serves some model to some group.
 * - A disabled channel is tried by one real call after five minutes, then after twice as long each
 *   time. If the upstream responds, it is enabled; if not, the call continues on other channels.
 *
 * If a channel has several keys, only the refused one is paused, and tried again in the same way;
 * the channel is disabled when no key is left.
 *
 * Overload, timeouts and broken connections disable nothing: they pass, and circuit breakers keep
 * calls away meanwhile.
 */
export interface LiveStatus {
  refused(channel: RoutableChannel, error: RelayError, by: Cause): void
  /** `isTrial`: the channel or its key was disabled when this call was sent to it. */
  answered(channel: RoutableChannel, by: Cause & { isTrial: boolean }): void
  /** Returns a disabled channel that this call tries before all others, or null. */
  trial(paused: readonly PausedChannel[]): Promise<RoutableChannel | null>
}

interface Cause {
  userId: number
  requestId: string
}

const WINDOW_MS = 300_000
const USERS_ENOUGH = 2
const HITS_ENOUGH = 5

const nameOf = ({ id, keyId }: RoutableChannel): string => `${id}${keyId}`

interface Suspicion {
  sinceMs: number
  hits: number
  users: Set<number>
}

export function createLiveStatus(app: App): LiveStatus {
  const { database, options, clock, background, trace } = app
  const suspicions = new Map<string, Suspicion>()
  /** Channels and keys whose status is being changed. */
  const underWay = new Set<string>()

  function isConfirmed(channel: RoutableChannel, userId: number): boolean {
    const id = nameOf(channel)
    const nowMs = clock.monotonicMs()
    let suspicion = suspicions.get(id)
    if (suspicion === undefined || nowMs - suspicion.sinceMs > WINDOW_MS) {
      suspicion = { sinceMs: nowMs, hits: 0, users: new Set() }
      suspicions.set(id, suspicion)
    }
    suspicion.hits += 1
    suspicion.users.add(userId)
    return suspicion.users.size >= USERS_ENOUGH || suspicion.hits >= HITS_ENOUGH
  }

  function once(what: string, channel: RoutableChannel, work: () => Promise<void>): void {
    const id = nameOf(channel)
    if (underWay.has(id)) return
    underWay.add(id)
    const isTaken = background.run('channels', what, () =>
      work().finally(() => underWay.delete(id)),
    )
    if (!isTaken) underWay.delete(id)
  }

  async function disable(
    used: RoutableChannel,
    { error, isCertain, requestId }: { error: RelayError; isCertain: boolean; requestId: string },
  ): Promise<void> {
    const channel = await findChannel(database.read, used.id)
    // The key or address was changed since: the refusal does not concern the current ones.
    if (channel === null || !isSameAccount(channel, used)) return
    if (channel.status !== ChannelStatus.enabled) return
    if (!isCertain && (await isLastOfSomething(database.read, used.id))) return
    const { status, code, message } = error
    suspicions.delete(nameOf(used))
    await changeStatusByProgram(app, {
      channel,
      to: ChannelStatus.autoDisabled,
      cause: 'refused',
      reason: logText(logReasons.account_refused, {
        cause: `${status}${code === '' ? '' : ` ${code}`}`,
        reason: message,
      }),
      requestId,
    })
  }

  async function enableAgain(used: RoutableChannel, requestId: string): Promise<void> {
    if (used.isEnabled || !options.flag('AutomaticEnableChannelEnabled')) return
    const channel = await findChannel(database.read, used.id)
    if (channel === null || !isSameAccount(channel, used)) return
    if (channel.status !== ChannelStatus.autoDisabled) return
    await changeStatusByProgram(app, {
      channel,
      to: ChannelStatus.enabled,
      cause: 'answered',
      reason: logText(logReasons.answered, {}),
      requestId,
    })
  }

  function refuseKey(channel: RoutableChannel, error: RelayError, by: Cause): void {
    const disabling = disablingOf(error)
    if (disabling === 'never') return
    const isCertain = disabling === 'at once'
    if (!isCertain && !isConfirmed(channel, by.userId)) return
    const { requestId } = by
    // Other calls of this process avoid the key immediately.
    channel.pause ??= { nextTrialSeconds: clock.nowSeconds() + trialDelaySeconds(0) }
    once('setting a key aside', channel, async () => {
      suspicions.delete(nameOf(channel))
      const left = await setKeyAside(app, channel, { error, requestId })
      if (left !== 0 || !options.flag('AutomaticDisableChannelEnabled')) return
      await disable(channel, { error, isCertain, requestId })
    })
  }

  return {
    refused(channel, error, { userId, requestId }) {
      if (channel.keyId !== '') {
        refuseKey(channel, error, { userId, requestId })
        return
      }
      if (!channel.isEnabled || !options.flag('AutomaticDisableChannelEnabled')) return
      const disabling = disablingOf(error)
      if (disabling === 'never') return
      const isCertain = disabling === 'at once'
      if (!isCertain && !isConfirmed(channel, userId)) return
      once('disabling a channel', channel, () => disable(channel, { error, isCertain, requestId }))
    },
    answered(channel, { requestId, isTrial }) {
      if (suspicions.size > 0) suspicions.delete(nameOf(channel))
      if (!isTrial) return
      if (channel.pause !== null) {
        channel.pause = null
        once('taking a key back', channel, async () => {
          await takeKeyBack(app, channel, requestId)
          await enableAgain(channel, requestId)
        })
        return
      }
      once('enabling a channel', channel, () => enableAgain(channel, requestId))
    },
    async trial(paused) {
      if (paused.length === 0 || !options.flag('AutomaticEnableChannelEnabled')) return null
      const nowSeconds = clock.nowSeconds()
      const due = paused.find(({ nextTrialSeconds }) => isTrialDue(nextTrialSeconds, nowSeconds))
      if (due === undefined) return null
      const dueAt = due.nextTrialSeconds
      const channelId = due.channel.id
      // Moved on first, so that no other call of this process tries it meanwhile.
      due.nextTrialSeconds = nowSeconds + trialDelaySeconds(0)
      try {
        const taken = await takeTrial(database.write, { channelId, dueAt, nowSeconds })
        if (taken === null) return null
        due.nextTrialSeconds = taken.nextTrialAt
        return taken.isOurs ? due.channel : null
      } catch (error) {
        // The call itself does not depend on the trial.
        trace.warn({ err: error, channelId }, 'a disabled channel was not tried')
        return null
      }
    },
  }
}
