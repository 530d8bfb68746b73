import type { RunState } from '../../contract/channel-api.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import {
  type ErrorCode,
  type ErrorParams,
  errorText,
  type Language,
} from '../../contract/errors.ts'
import { logReasons, logRows, logText } from '../../contract/log-sentences.ts'
import { LogType } from '../../contract/log.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { insertLog } from '../log/log-store.ts'
import {
  isHardRefusal,
  mappedModel,
  modelToTest,
  statusAfterTest,
  type UpstreamVerdict,
} from './channel.ts'
import { announceChannels, announceGoodNews } from './notice/channel-news.ts'
import { withoutChannelSecrets } from './secrets.ts'
import { createChannelRun, visitFailure, type VisitFailure } from './run/channel-run.ts'
import { pauseTestedKey, resumeKey, withOneKey } from './key/channel-key-store.ts'
import { changeStatusByProgram } from './channel-status.ts'
import { channelIdsIn, findChannel, saveTestResult, type StoredChannel } from './channel-store.ts'

/** Result of a small real call through a channel. */
export type ProbeOutcome =
  | {
      ok: true
      /** The model's reply. */
      text: string
      elapsedMs: number
    }
  | {
      ok: false
      code: ErrorCode
      params?: ErrorParams
      elapsedMs: number
      /** The upstream's error, if it responded. */
      verdict?: UpstreamVerdict
    }

/** Makes the call. Failures of the upstream are returned as an outcome; `signal` aborts it. */
export type ProbeChannel = (
  channel: StoredChannel,
  model: string,
  signal: AbortSignal,
) => Promise<ProbeOutcome>

export interface TestedChannel {
  outcome: ProbeOutcome
  /** Requested model, before the channel's mapping. */
  model: string
}

interface JudgedChannel extends TestedChannel {
  /** Whether the tested key was refused and paused, and others are left. */
  othersLeft: boolean
}

/** Manual tests of one or all channels. */
export interface ChannelTests {
  /**
   * Tests one channel. Throws `not_found`. Never disables it, because an admin sees the result, but
   * may enable an automatically disabled one.
   */
  testOne(id: number, model: string, requestId: string): Promise<TestedChannel>
  /**
   * Starts a run over all or all disabled channels without waiting for it. Throws
   * `channel_test_running`.
   */
  startAll(scope: 'all' | 'disabled', requestId: string): Promise<void>
  /** Starts a run over the given channels. */
  startChosen(ids: readonly number[], requestId: string): Promise<void>
  state(language: Language): Promise<RunState>
}

/** Time limit per channel. */
const PROBE_TIMEOUT_MS = 60_000
/** Maximum number of characters of a model's reply in the log. */
const REPLY_LENGTH_MAX = 200

export function createChannelTests(
  app: App,
  probe: ProbeChannel,
  stopping?: AbortSignal,
): ChannelTests {
  const { database, clock, options } = app
  const bulk = createChannelRun(app, { name: 'channel_test', stopping })

  async function testChannel(
    channel: StoredChannel,
    asked: string,
    requestId: string,
  ): Promise<JudgedChannel> {
    const model = modelToTest(channel, asked)
    const timeout = AbortSignal.timeout(PROBE_TIMEOUT_MS)
    const signal = stopping === undefined ? timeout : AbortSignal.any([timeout, stopping])
    const { channel: asking, keyId } = await withOneKey(database.read, channel)
    const outcome = await probe(asking, model, signal)
    // A test aborted by the stopping server has no result.
    if (!outcome.ok && stopping?.aborted === true) return { outcome, model, othersLeft: false }
    const othersLeft = keyId !== '' && (await followKey(channel, outcome, keyId))
    const sent = mappedModel(channel.model_mapping, model)
    const elapsedMs = Math.max(0, Math.round(outcome.elapsedMs))
    const nowSeconds = clock.nowSeconds()
    await database.write.transaction().execute(async (trx) => {
      await saveTestResult(trx, {
        id: channel.id,
        // A successful call within a millisecond must not count as failed.
        responseTimeMs: outcome.ok ? Math.max(1, elapsedMs) : 0,
        nowSeconds,
      })
      await insertLog(trx, {
        // A row without user, visible to administrators only.
        userId: 0,
        username: '',
        type: LogType.test,
        content: testLogText(channel, outcome),
        nowSeconds,
        requestId,
        channelId: channel.id,
        // As in the rows of calls.
        modelName: sent,
        elapsedMs,
      })
    })
    if (outcome.ok) await announceGoodNews(database, { ids: [channel.id], keyId, model: sent })
    return { outcome, model, othersLeft }
  }

  /**
   * Resumes the tested key if it works, or pauses it if it was refused. Returns whether it was
   * paused and others are left.
   */
  async function followKey(
    channel: StoredChannel,
    outcome: ProbeOutcome,
    keyId: string,
  ): Promise<boolean> {
    if (outcome.ok) {
      const isTaken = await resumeKey(database.write, { channelId: channel.id, keyId })
      if (isTaken) await announceChannels(database, [channel.id])
      return false
    }
    if (outcome.verdict === undefined || !isHardRefusal(outcome.verdict)) return false
    const { status, code, type } = outcome.verdict
    const nowSeconds = clock.nowSeconds()
    const left = await database.write
      .transaction()
      .execute((trx) =>
        pauseTestedKey(trx, channel, { keyId, status, cause: code || type }, nowSeconds),
      )
    await announceChannels(database, [channel.id])
    return left > 0
  }

  /** Returns the status after a test, or null if unchanged. */
  const statusAfter = (channel: StoredChannel, outcome: ProbeOutcome): number | null =>
    statusAfterTest(channel.status, outcome, {
      disables: options.flag('AutomaticDisableChannelEnabled'),
      enables: options.flag('AutomaticEnableChannelEnabled'),
      slowSeconds: options.number('ChannelDisableThreshold'),
    })

  async function changeStatus(
    channel: StoredChannel,
    outcome: ProbeOutcome,
    { to, requestId }: { to: number; requestId: string },
  ): Promise<void> {
    const reason = outcome.ok
      ? to === ChannelStatus.enabled
        ? logText(logReasons.test_passed, {})
        : logText(logReasons.too_slow, { seconds: secondsText(outcome.elapsedMs) })
      : disablingText(outcome)
    const cause = !outcome.ok ? 'refused' : to === ChannelStatus.enabled ? 'tested' : 'slow'
    await changeStatusByProgram(app, { channel, to, cause, reason, requestId })
  }

  async function testAndJudge(id: number, requestId: string): Promise<VisitFailure | null> {
    const channel = await findChannel(database.read, id)
    // Deleted since the run began.
    if (channel === null) return null
    const { outcome, othersLeft } = await testChannel(channel, '', requestId)
    const to = statusAfter(channel, outcome)
    if (to !== null && !othersLeft) await changeStatus(channel, outcome, { to, requestId })
    return outcome.ok ? null : failureOf(channel, outcome)
  }

  async function start(
    plan: { scope: string; ids(): Promise<readonly number[]> },
    requestId: string,
  ): Promise<void> {
    const hasBegun = await bulk.start({ ...plan, visit: (id) => testAndJudge(id, requestId) })
    if (!hasBegun) throw new AppError('channel_test_running')
  }

  return {
    state: (language) => bulk.state(language),
    async testOne(id, model, requestId) {
      const channel = await findChannel(database.read, id)
      if (channel === null) throw new AppError('not_found')
      const tested = await testChannel(channel, model, requestId)
      const to = statusAfter(channel, tested.outcome)
      if (to === ChannelStatus.enabled) {
        await changeStatus(channel, tested.outcome, { to, requestId })
      }
      return tested
    },
    startAll: (scope, requestId) =>
      start({ scope, ids: () => channelIdsIn(database.read, scope) }, requestId),
    startChosen: (ids, requestId) =>
      start({ scope: 'chosen', ids: () => Promise.resolve([...new Set(ids)]) }, requestId),
  }
}

type FailedProbe = Extract<ProbeOutcome, { ok: false }>

/** Same text as for a manual test. */
const failureOf = (channel: StoredChannel, { code, params }: FailedProbe): VisitFailure =>
  visitFailure(channel, { code, ...(params === undefined ? {} : { params }) }, (text) =>
    withoutChannelSecrets(text, channel),
  )

const secondsText = (ms: number): string => (ms / 1000).toFixed(2)

/** Returns the log text, in Chinese like all log rows. */
function testLogText(channel: StoredChannel, outcome: ProbeOutcome): string {
  const name = channel.name ?? ''
  if (!outcome.ok) {
    const reason = withoutChannelSecrets(failureText(outcome), channel)
    return logText(logRows.test_failed, { name, reason })
  }
  const text = withoutChannelSecrets(outcome.text, channel)
  const reply = [...text].slice(0, REPLY_LENGTH_MAX).join('')
  return logText(logRows.test_passed, { name, reply })
}

/** Reason for a disabled channel, which states that a test failed. */
const disablingText = (outcome: FailedProbe): string =>
  outcome.code === 'channel_test_failed'
    ? logText(logReasons.test_failed, { reason: failureText(outcome) })
    : errorText(outcome.code, 'zh', outcome.params)

/** Reason of the failure, without repeating that a test failed. */
const failureText = ({ code, params }: FailedProbe): string =>
  code === 'channel_test_failed' ? String(params?.['detailZh']) : errorText(code, 'zh', params)
