import { ChannelStatus } from '../../../contract/channel.ts'
import { logReasons, logText } from '../../../contract/log-sentences.ts'
import type { App } from '../../app.ts'
import {
  isLastOfSomething,
  isTrialDue,
  takeTrial,
  trialDelaySeconds,
} from '../../channel/channel-pause-store.ts'
import type { Clock } from '../../clock.ts'
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

/** A refusal that pauses a key or disables a channel. `isCertain`: it names the reason. */
interface Refusal {
  error: RelayError
  isCertain: boolean
  requestId: string
}

const WINDOW_MS = 300_000
const USERS_ENOUGH = 2
const HITS_ENOUGH = 5

const nameOf = ({ id, keyId }: RoutableChannel): string => `${id}${keyId}`

/** Counts refusals without a reason, by channel and key, until they are confirmed. */
class Suspicions {
  private readonly byName = new Map<string, { sinceMs: number; hits: number; users: Set<number> }>()
  private readonly clock: Pick<Clock, 'monotonicMs'>

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.clock = clock
  }

  /** Counts one more refusal. Returns whether enough users or calls have met it. */
  confirm(channel: RoutableChannel, userId: number): boolean {
    const name = nameOf(channel)
    const nowMs = this.clock.monotonicMs()
    let suspicion = this.byName.get(name)
    if (suspicion === undefined || nowMs - suspicion.sinceMs > WINDOW_MS) {
      suspicion = { sinceMs: nowMs, hits: 0, users: new Set() }
      this.byName.set(name, suspicion)
    }
    suspicion.hits += 1
    suspicion.users.add(userId)
    return suspicion.users.size >= USERS_ENOUGH || suspicion.hits >= HITS_ENOUGH
  }

  drop(channel: RoutableChannel): void {
    if (this.byName.size > 0) this.byName.delete(nameOf(channel))
  }
}

export function createLiveStatus(app: App): LiveStatus {
  const { database, options, clock, background } = app
  const suspicions = new Suspicions(clock)
  /** Channels and keys whose status is being changed. */
  const underWay = new Set<string>()

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
    { error, isCertain, requestId }: Refusal,
  ): Promise<void> {
    const channel = await findChannel(database.read, used.id)
    // The key or address was changed since: the refusal does not concern the current ones.
    if (channel === null || !isSameAccount(channel, used)) return
    if (channel.status !== ChannelStatus.enabled) return
    if (!isCertain && (await isLastOfSomething(database.read, used.id))) return
    const { status, code, message } = error
    suspicions.drop(used)
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

  function pauseKey(channel: RoutableChannel, refusal: Refusal): void {
    // Other calls of this process avoid the key immediately.
    channel.pause ??= { nextTrialSeconds: clock.nowSeconds() + trialDelaySeconds(0) }
    once('setting a key aside', channel, async () => {
      suspicions.drop(channel)
      const left = await setKeyAside(app, channel, refusal)
      if (left !== 0 || !options.flag('AutomaticDisableChannelEnabled')) return
      await disable(channel, refusal)
    })
  }

  return {
    refused(channel, error, { userId, requestId }) {
      const isKey = channel.keyId !== ''
      const mayDisable = channel.isEnabled && options.flag('AutomaticDisableChannelEnabled')
      const disabling = disablingOf(error)
      if ((!isKey && !mayDisable) || disabling === 'never') return
      const isCertain = disabling === 'at once'
      if (!isCertain && !suspicions.confirm(channel, userId)) return
      const refusal = { error, isCertain, requestId }
      if (isKey) pauseKey(channel, refusal)
      else once('disabling a channel', channel, () => disable(channel, refusal))
    },
    answered(channel, { requestId, isTrial }) {
      suspicions.drop(channel)
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
    trial: (paused) =>
      paused.length === 0 || !options.flag('AutomaticEnableChannelEnabled')
        ? Promise.resolve(null)
        : takeDueTrial(app, paused),
  }
}

/** Takes the trial of the first channel that is due for one, unless another process takes it. */
async function takeDueTrial(
  { database, clock, trace }: App,
  paused: readonly PausedChannel[],
): Promise<RoutableChannel | null> {
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
}
