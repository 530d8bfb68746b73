import { channelType } from '../../../contract/channel-types.ts'
import { logRows, logText } from '../../../contract/log-sentences.ts'
import { isAdmin } from '../../../contract/user.ts'
import { AppError } from '../../app-error.ts'
import type { Settlement } from '../../ledger/operations.ts'
import { settleServed } from '../../ledger/ledger.ts'
import { allowsModel } from '../../token/token.ts'
import { failedAttempt } from '../errors/attempt-outcome.ts'
import { exactly, reservePoints } from '../call/reserve.ts'
import { ClientFlow } from '../call/respond/respond.ts'
import { readCallBody } from '../call/read-request.ts'
import { authenticate } from '../call/authenticate.ts'
import { endCall, type Call, type RelayParts } from '../call/call.ts'
import { sendError, writeHead } from '../call/respond/respond.ts'
import type { Caller } from '../routing/caller.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import { overridden } from '../transport/override-request.ts'
import { silenceLimits } from '../transport/upstream-call.ts'
import type { UpstreamFailure, UpstreamRequest } from '../transport/upstream-call.ts'
import { answeredHeaders, proxyHeaders, proxyUrl, type ProxyCall } from './proxy-place.ts'

/**
 * A raw call to a proxy channel: method, path, query and body unchanged, with the channel's key.
 * The server does not interpret the call, so it is restricted to administrators, costs the fixed
 * amount that the operator has set, and is charged when the upstream starts to respond.
 */

/** The name that a token limited to certain models must allow, also used in the log. */
const MODEL = 'proxy'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
type Method = (typeof METHODS)[number]

export async function relayProxy(parts: RelayParts, call: Call, target: ProxyCall): Promise<void> {
  const { app } = parts
  const caller = await authenticate(parts, call)
  parts.admission.refuseIfFull(caller.token.id)
  const channel = await channelOf(parts, caller, target)
  const method = METHODS.find((name) => name === call.request.method)
  if (method === undefined) throw new AppError('not_implemented')
  const url = proxyUrl(channel.baseUrl, target.path)
  if (url === null) throw new AppError('proxy_path_invalid')
  const body = await readCallBody(parts, call)
  const cost = app.options.number('ProxyCallQuota')
  const reserved = await reservePoints(parts, call, { ...exactly(cost), tokens: 0 })
  if (reserved === null) return
  if (call.isGone) {
    await app.ledger.release(call.requestId)
    return
  }
  const { recorder } = parts
  const attempted = { caller, channel, body, modelRequested: MODEL, modelSent: MODEL }
  const egress = recorder.isOn ? recorder.tapped(parts.egress, call, attempted) : parts.egress
  await new ProxyRelay({ ...parts, egress }, call, { caller, channel, cost }).run(
    requestOf(parts, call, { url, method, body, channel }),
  )
}

async function channelOf(
  { channels, keys }: RelayParts,
  { user, token, pinnedChannel }: Caller,
  { channelId }: ProxyCall,
): Promise<RoutableChannel> {
  if (!isAdmin(user.role)) throw new AppError('channel_pin_not_allowed')
  if (!allowsModel(token, MODEL)) throw new AppError('token_model_not_allowed', { model: MODEL })
  const map = await channels.current()
  const channel = /^\d{1,15}$/.test(channelId) ? map.find(Number(channelId)) : undefined
  const isOther = pinnedChannel !== null && pinnedChannel !== channelId
  if (channel === undefined || channelType(channel.type).protocol !== 'proxy' || isOther) {
    throw new AppError('channel_pin_unknown')
  }
  if (!channel.isEnabled) throw new AppError('channel_pin_disabled')
  return keys.next(channel, []) ?? channel
}

function requestOf(
  { app }: RelayParts,
  call: Call,
  to: { url: string; method: Method; body: Buffer; channel: RoutableChannel },
): UpstreamRequest {
  const request: UpstreamRequest = {
    url: to.url,
    method: to.method,
    headers: proxyHeaders(call.request.headers, to.channel.key),
    body: to.body.length === 0 ? null : to.body,
    // The response format is unknown, and the request is sent once.
    ...silenceLimits(app.config, { isWhole: true }),
  }
  // Body overrides do not apply to a raw call.
  const { overrides, key } = to.channel
  return overridden(request, { key, overrides: { ...overrides, params: {} } })
}

interface Proxied {
  caller: Caller
  channel: RoutableChannel
  /** In points, as reserved. */
  cost: number
}

/**
 * Relays one response. Its cost is known in advance, so it is settled when the response begins, and
 * every chunk is passed on as it arrives.
 */
class ProxyRelay {
  private readonly parts: RelayParts
  private readonly call: Call
  private readonly proxied: Proxied
  private readonly outcome = Promise.withResolvers<void>()
  private readonly flow: ClientFlow
  /** Data that arrived while the call was being settled; null once it is settled. */
  private waiting: Buffer[] | null = []
  private settling: Promise<void> | null = null

  constructor(parts: RelayParts, call: Call, proxied: Proxied) {
    this.parts = parts
    this.call = call
    this.proxied = proxied
    this.flow = new ClientFlow(call)
  }

  run(request: UpstreamRequest): Promise<void> {
    this.flow.start(this.parts, request, {
      onHead: (status, headers) => {
        this.flow.pause()
        this.settling = this.begin(status, headers)
        this.settling.catch(() => this.flow.abort())
      },
      onData: (chunk) => this.pass(chunk),
      onEnd: () => this.finish(null),
      onFailure: (failure) => this.finish(failure),
    })
    return this.outcome.promise
  }

  private async begin(status: number, headers: AnswerHeaders): Promise<void> {
    const { call } = this
    await this.settle('answered')
    const { waiting } = this
    this.waiting = null
    if (call.isGone) return
    // A redirect would lead the client past this server, and its target reveals the upstream.
    const isRedirect = status >= 300 && status < 400 && status !== 304
    writeHead(call, isRedirect ? 502 : status, answeredHeaders(headers))
    call.response.flushHeaders()
    for (const chunk of waiting ?? []) this.pass(chunk)
    if (!this.flow.isStuck) this.flow.readOn()
  }

  private pass(chunk: Buffer): void {
    const { call } = this
    if (this.waiting !== null) {
      this.waiting.push(chunk)
      return
    }
    if (!call.isGone) this.flow.write(chunk)
  }

  private finish(failure: UpstreamFailure | null): void {
    this.conclude(failure).then(this.outcome.resolve, this.outcome.reject)
  }

  private async conclude(failure: UpstreamFailure | null): Promise<void> {
    const { parts, call } = this
    if (this.settling !== null) await this.settling
    // A client that left while the upstream was at work is charged for the cost it caused.
    else if (failure === 'aborted' && this.flow.brokenOff === null) {
      await this.settle('abandoned')
    } else await parts.app.ledger.release(call.requestId)
    if (call.isGone) return
    if (failure === null) {
      call.response.end()
      return
    }
    const failed = failedAttempt(call.language, this.flow.brokenOff ?? failure)
    const outcome = this.settling === null ? failed.cause : 'broken'
    endCall(call, { outcome, channelId: this.proxied.channel.id, quota: call.end?.quota ?? 0 })
    // Once the head is sent, this closes the connection so that the response is not taken for
    // complete.
    sendError(call, failed.error)
  }

  private async settle(outcome: string): Promise<void> {
    const { parts, call, proxied } = this
    const settlement = settlementOf(parts, call, proxied)
    await settleServed(parts.app, settlement)
    endCall(call, { outcome, channelId: proxied.channel.id, quota: settlement.cost })
  }
}

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

function settlementOf(
  { app }: RelayParts,
  call: Call,
  { caller, channel, cost }: Proxied,
): Settlement {
  return {
    requestId: call.requestId,
    nowSeconds: app.clock.nowSeconds(),
    userId: caller.user.id,
    tokenId: caller.token.id,
    channelId: channel.id,
    cost,
    promptTokens: 0,
    completionTokens: 0,
    username: caller.user.username,
    tokenName: caller.token.name ?? '',
    modelName: MODEL,
    detail: JSON.stringify({ proxy_call: cost, group: caller.groups[0] ?? '' }),
    content: logText(logRows.proxied, { method: String(call.request.method) }),
    elapsedMs: Math.round(app.clock.monotonicMs() - call.startedMs),
    isStream: false,
    systemPromptReset: false,
    keepLog: app.options.flag('LogConsumeEnabled'),
    address: caller.address,
  }
}
