import type { RunState } from '../../contract/channel-api.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import type { ErrorCode, ErrorParams, Language } from '../../contract/errors.ts'
import { errorText } from '../../contract/errors.ts'
import { LogType } from '../../contract/log.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { insertLog } from '../log/log-store.ts'
import {
  modelToTest,
  statusAfterTest,
  withoutChannelSecrets,
  type UpstreamVerdict,
} from './channel.ts'
import { createChannelRun, visitFailure, type VisitFailure } from './run/channel-run.ts'
import { pauseTestedKey, resumeKey, withOneKey } from './key/channel-key-store.ts'
import { changeStatusByProgram } from './channel-status.ts'
import {
  channelIdsToTest,
  findChannel,
  saveTestResult,
  type StoredChannel,
} from './channel-store.ts'

/** What a small real call through a channel came to. */
export type ProbeOutcome =
  | {
      ok: true
      /** What the model replied. */
      text: string
      elapsedMs: number
    }
  | {
      ok: false
      code: ErrorCode
      params?: ErrorParams
      elapsedMs: number
      /** How the upstream named its refusal, where it did answer. */
      verdict?: UpstreamVerdict
    }

/** Makes the call. Answers every failure of the upstream as an outcome; `signal` ends it early. */
export type ProbeChannel = (
  channel: StoredChannel,
  model: string,
  signal: AbortSignal,
) => Promise<ProbeOutcome>

export interface TestedChannel {
  outcome: ProbeOutcome
  /** The model that was asked for, before the channel's mapping. */
  model: string
  /** With which of several keys; '': the channel has one. */
  keyId: string
}

/** Tests channels by hand, one or all. */
export interface ChannelTests {
  /** Throws `not_found`. Changes no status: a person looks at the result. */
  testOne(id: number, model: string, requestId: string): Promise<TestedChannel>
  /**
   * Starts a run over all or all disabled channels and does not wait. Throws
   * `channel_test_running`.
   */
  startAll(scope: 'all' | 'disabled', requestId: string): Promise<void>
  /** The same over these. */
  startChosen(ids: readonly number[], requestId: string): Promise<void>
  state(language: Language): Promise<RunState>
}

/** Longest that one channel is waited for. */
const PROBE_TIMEOUT_MS = 60_000
/** Characters of a model's reply that the log keeps. */
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
  ): Promise<TestedChannel> {
    const model = modelToTest(channel, asked)
    const timeout = AbortSignal.timeout(PROBE_TIMEOUT_MS)
    const signal = stopping === undefined ? timeout : AbortSignal.any([timeout, stopping])
    const { channel: asking, keyId } = await withOneKey(database.read, channel)
    const outcome = await probe(asking, model, signal)
    // A test that the stopping server broke off says nothing of the channel.
    if (!outcome.ok && stopping?.aborted === true) return { outcome, model, keyId }
    const isTaken =
      keyId !== '' &&
      outcome.ok &&
      (await resumeKey(database.write, { channelId: channel.id, keyId }))
    if (isTaken) await database.announce('channels')
    const elapsedMs = Math.max(0, Math.round(outcome.elapsedMs))
    const nowSeconds = clock.nowSeconds()
    await database.write.transaction().execute(async (trx) => {
      await saveTestResult(trx, {
        id: channel.id,
        // A call that succeeds within a millisecond was tested nevertheless.
        responseTimeMs: outcome.ok ? Math.max(1, elapsedMs) : 0,
        nowSeconds,
      })
      await insertLog(trx, {
        // Nobody's row: only administrators see it.
        userId: 0,
        username: '',
        type: LogType.test,
        content: testLogText(channel, outcome),
        nowSeconds,
        requestId,
        channelId: channel.id,
        modelName: model,
        elapsedMs,
      })
    })
    return { outcome, model, keyId }
  }

  /** Whether a refused test is answered by setting its key aside: others are left. */
  async function isKeyOnly(channel: StoredChannel, tested: TestedChannel): Promise<boolean> {
    const { outcome, keyId } = tested
    if (keyId === '' || outcome.ok || outcome.verdict === undefined) return false
    const { status, code, type } = outcome.verdict
    const nowSeconds = clock.nowSeconds()
    const left = await database.write
      .transaction()
      .execute((trx) =>
        pauseTestedKey(trx, channel, { keyId, status, cause: code || type }, nowSeconds),
      )
    await database.announce('channels')
    return left > 0
  }

  async function testAndJudge(id: number, requestId: string): Promise<VisitFailure | null> {
    const channel = await findChannel(database.read, id)
    // Deleted since the run began.
    if (channel === null) return null
    const tested = await testChannel(channel, '', requestId)
    const { outcome } = tested
    const to = statusAfterTest(channel.status, outcome, {
      disables: options.flag('AutomaticDisableChannelEnabled'),
      enables: options.flag('AutomaticEnableChannelEnabled'),
      slowSeconds: options.number('ChannelDisableThreshold'),
    })
    const failure = outcome.ok ? null : failureOf(channel, outcome)
    if (to === ChannelStatus.autoDisabled && (await isKeyOnly(channel, tested))) return failure
    if (to !== null) {
      const reason = outcome.ok
        ? to === ChannelStatus.enabled
          ? '测试通过'
          : `响应用时 ${secondsText(outcome.elapsedMs)} 秒，超过最长响应时间`
        : errorText(outcome.code, 'zh', outcome.params)
      const cause = !outcome.ok ? 'refused' : to === ChannelStatus.enabled ? 'tested' : 'slow'
      await changeStatusByProgram(app, { channel, to, cause, reason, requestId })
    }
    return failure
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
      return testChannel(channel, model, requestId)
    },
    startAll: (scope, requestId) =>
      start({ scope, ids: () => channelIdsToTest(database.read, scope) }, requestId),
    startChosen: (ids, requestId) =>
      start({ scope: 'chosen', ids: () => Promise.resolve([...new Set(ids)]) }, requestId),
  }
}

type FailedProbe = Extract<ProbeOutcome, { ok: false }>

/** As its test by hand would say it. */
const failureOf = (channel: StoredChannel, { code, params }: FailedProbe): VisitFailure =>
  visitFailure(channel, { code, ...(params === undefined ? {} : { params }) }, (text) =>
    withoutChannelSecrets(text, channel),
  )

const secondsText = (ms: number): string => (ms / 1000).toFixed(2)

/** Log rows are Chinese, as all of theirs are. */
function testLogText(channel: StoredChannel, outcome: ProbeOutcome): string {
  const name = channel.name ?? ''
  if (!outcome.ok) {
    return `渠道「${name}」测试失败：${withoutChannelSecrets(failureText(outcome), channel)}`
  }
  const reply = withoutChannelSecrets(outcome.text, channel)
  return `渠道「${name}」测试成功，回复：${[...reply].slice(0, REPLY_LENGTH_MAX).join('')}`
}

/** What went wrong; that the test has failed is said already. */
const failureText = ({ code, params }: FailedProbe): string =>
  code === 'channel_test_failed' ? String(params?.['detail']) : errorText(code, 'zh', params)
