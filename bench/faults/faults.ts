/**
 * Many channels of several types while their upstreams fail, stall, cut, throttle, reject their
 * accounts and recover, as scripted in `fault-script.ts`.
 *
 * While one channel is healthy, a call can be served: the share of served calls is measured against
 * this. No healthy channel may be disabled, and every rejected account must be. Every response is
 * billed once, to the channel that sent it, and nothing else is billed.
 */
import os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { SERVER_CORE } from '../contenders.ts'
import { createGatehouse, ROOT_PASSWORD, type GatehouseServer } from '../gatehouse-server.ts'
import {
  createChannel,
  createToken,
  giveQuota,
  signIn,
  type Session,
} from '../management-client.ts'
import { describeMachine, machineClock, publish } from '../report.ts'
import { makeCalls, type Called } from './fault-callers.ts'
import { describeFaults, judgeFaults, type FaultReport } from './fault-report.ts'
import { CHANNELS, startsMs } from './fault-script.ts'
import { startFaultyUpstream, type FaultyUpstream } from './faulty-upstream.ts'

const MODEL = 'gpt-4o-mini'
const PLENTY_OF_QUOTA = 1_000_000_000_000
/** Retries per call: an operator with twenty channels can afford some. */
const RETRIES = 4
const SETTLING_MS = 20_000
/** Responses that came too late are never billed, so there is no need to wait for them. */
const QUIET_MS = 3000
const SETTLING_POLL_MS = 100
const CHANNELS_SHOWN_MAX = 1000

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '300' },
      rate: { type: 'string', default: '200' },
      database: { type: 'string', default: 'sqlite' },
    },
  })
  const clock = machineClock()
  const loadBefore = os.loadavg()[0] ?? 0
  const report = await runFaults({
    seconds: Number(values.seconds),
    rate: Number(values.rate),
    database: values.database === 'postgres' ? 'postgres' : 'sqlite',
    silenceSeconds: 3,
    core: SERVER_CORE,
  })
  const machine = describeMachine(clock, loadBefore)
  publish('faults', describeFaults(report, machine), { machine, report })
  if (report.problems.length > 0) process.exitCode = 1
}

/** Runs the script once over this many seconds. */
export async function runFaults(options: {
  seconds: number
  rate: number
  database: 'sqlite' | 'postgres'
  /** Timeout of the gateway for the first byte and between two bytes. */
  silenceSeconds: number
  core: number | null
}): Promise<FaultReport> {
  const { seconds, rate, database, silenceSeconds, core } = options
  const upstream = await startFaultyUpstream()
  const silence = String(silenceSeconds)
  const gatehouse = await createGatehouse({
    database,
    core,
    env: {
      RELAY_FIRST_BYTE_TIMEOUT: silence,
      RELAY_WHOLE_ANSWER_TIMEOUT: silence,
      RELAY_IDLE_TIMEOUT: silence,
      LOG_LEVEL: 'error',
    },
  })
  const server = await gatehouse.start()
  try {
    const root = await signIn({ url: gatehouse.url, username: 'root', password: ROOT_PASSWORD })
    const key = await prepare(root, upstream)
    const ids = await channelIds(root)
    const starts = startsMs(seconds)
    let phase = 0
    const { calls, skipped } = await makeCalls({
      url: gatehouse.url,
      key,
      model: MODEL,
      rate,
      seconds,
      onTick: (elapsedMs) => {
        if (elapsedMs < (starts[phase + 1] ?? Infinity)) return
        phase += 1
        upstream.enter(phase)
      },
    })
    const billed = await settledRows(gatehouse, { upstream, calls })
    const disabled = await disabledChannels(root)
    const givenUp = await attemptsGivenUp(gatehouse.url, ids)
    await server.stop()
    const books = await gatehouse.reconcile()
    return judgeFaults({
      seconds,
      rate,
      calls,
      billed,
      books,
      ids,
      disabled,
      skipped,
      givenUp,
      visits: upstream.visits(),
    })
  } finally {
    await server.stop('SIGKILL')
    await gatehouse.remove()
    await upstream.close()
  }
}

/** Creates options, channels and a token; returns its key. */
async function prepare(root: Session, upstream: FaultyUpstream): Promise<string> {
  const options = { RetryTimes: String(RETRIES), AutomaticDisableChannelEnabled: 'true' }
  for (const [key, value] of Object.entries(options)) {
    await root.call('PUT', '/api/option/', { key, value })
  }
  for (const [index, { name, type, key }] of CHANNELS.entries()) {
    await createChannel(root, { name, type, key, base_url: upstream.baseUrl(index), models: MODEL })
  }
  await giveQuota(root, 'root', PLENTY_OF_QUOTA)
  return createToken(root, { name: 'faults', remain_quota: 0, unlimited_quota: true })
}

type ShownChannel = { id: number; name: string; status: number }

async function shownChannels(root: Session): Promise<ShownChannel[]> {
  const found: ShownChannel[] = []
  for (let page = 0; found.length < CHANNELS_SHOWN_MAX; page += 1) {
    // The contract's shape of a channel.
    const rows = (await root.call('GET', `/api/channel/?p=${page}`)) as ShownChannel[]
    if (rows.length === 0) break
    found.push(...rows)
  }
  return found
}

/** Ids in the order of `CHANNELS`. */
async function channelIds(root: Session): Promise<number[]> {
  const byName = new Map((await shownChannels(root)).map(({ id, name }) => [name, id]))
  return CHANNELS.map(({ name }) => byName.get(name) ?? 0)
}

const ENABLED = 1

async function disabledChannels(root: Session): Promise<string[]> {
  const channels = await shownChannels(root)
  return channels.filter(({ status }) => status !== ENABLED).map(({ name }) => name)
}

/** Attempts that the gateway ended without a response, by channel, from its metrics. */
async function attemptsGivenUp(url: string, ids: number[]): Promise<number[]> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lines = text.split('\n').filter((line) => GIVEN_UP.test(line))
  return ids.map((id) =>
    lines
      .filter((line) => line.includes(`channel="${id}"`))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0),
  )
}

const GIVEN_UP = /^gatehouse_relay_attempts_failed_total\{[^}]*cause="(?:network|timeout)"/

/** Waits until all rows exist: an aborted call is settled a moment later. */
async function settledRows(
  gatehouse: GatehouseServer,
  { upstream, calls }: { upstream: FaultyUpstream; calls: Called[] },
) {
  const end = performance.now() + SETTLING_MS
  let quietUntilMs = Infinity
  let seen = -1
  for (;;) {
    const rows = await gatehouse.billedCalls()
    if (rows.length > seen) quietUntilMs = performance.now() + QUIET_MS
    seen = rows.length
    const visits = upstream.visits()
    const expected = visits.reduce((sum, { answered, parts }) => sum + answered + parts, 0)
    const isSettled = rows.length >= Math.max(expected, calls.filter(isServed).length)
    if (isSettled || performance.now() > Math.min(end, quietUntilMs)) return rows
    await sleep(SETTLING_POLL_MS)
  }
}

const isServed = ({ outcome }: Called): boolean => outcome === 'served'
