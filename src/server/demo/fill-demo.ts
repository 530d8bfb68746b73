import { ChannelInput } from '../../contract/channel-api.ts'
import { errorText } from '../../contract/errors.ts'
import { logRows, logText } from '../../contract/log-sentences.ts'
import { LogType } from '../../contract/log.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { TokenStatus } from '../../contract/token.ts'
import { newChannels } from '../channel/channel.ts'
import { insertChannels, saveTestResult } from '../channel/channel-store.ts'
import type { Database, Queries } from '../db/database.ts'
import { creditUser, openToken, redeemCode, setUserQuota } from '../ledger/balances.ts'
import type { LedgerOperation } from '../ledger/operations.ts'
import { insertLog } from '../log/log-store.ts'
import { quotaLogText } from '../log/log-text.ts'
import { createLiveOptions, type LiveOptions } from '../option/live-options.ts'
import { insertToken, setTokenStatus } from '../token/token-store.ts'
import { insertUser, updateUser } from '../user/user-store.ts'
import type { DemoCall } from './demo-calls.ts'
import type { DemoChannel } from './demo-channels.ts'
import { DEMO_USERNAME, requestIdAt, type DemoPerson } from './demo-people.ts'
import {
  NEWCOMER_POINTS,
  planDemo,
  type DemoPlan,
  type DemoSize,
  type DemoTopUp,
} from './demo-plan.ts'
import { insertCodes, saveBalance } from './demo-store.ts'
import type { DemoToken } from './demo-tokens.ts'
import { createDice, type Dice } from './dice.ts'

/** Size of `gatehouse demo`. */
export const DEMO_SIZE: DemoSize = {
  people: 40,
  channels: 60,
  tokens: 200,
  codes: 60,
  calls: 50_000,
  days: 60,
}
/** The same in every run. */
const SEED = 20_260_101
/** Number of calls per transaction. */
const CALLS_PER_BATCH = 1000
/** Process name in the reservations of past calls. */
const NODE = 'demo'

export interface DemoSetting {
  size: DemoSize
  nowSeconds: number
  /** Address of the upstream of all channels. */
  upstreamUrl: string
  /** Password hash of all accounts. */
  passwordHash: string
}

export interface DemoSummary {
  people: number
  channels: number
  tokens: number
  codes: number
  calls: number
  /** An ordinary user, and the key of one of their tokens without `sk-`. */
  username: string
  tokenKey: string
}

/** Ids of the written objects. */
interface Written {
  people: Map<DemoPerson, number>
  tokens: Map<DemoToken, number>
  channels: Map<DemoChannel, number>
}

/**
 * Fills an empty database with the history of a busy installation. All points go through the ledger
 * in order, so the ledger balances as if everything had happened.
 */
export async function fillDemo(database: Database, setting: DemoSetting): Promise<DemoSummary> {
  const options = await setOptions(database)
  const { size, nowSeconds, upstreamUrl } = setting
  const ratios = options.ratios()
  const plan = planDemo({ seed: SEED, size, nowSeconds, upstreamUrl, ratios })
  // For ids and texts that are not part of the plan.
  const dice = createDice(SEED + 1)
  const written = await database.write.transaction().execute(async (trx): Promise<Written> => {
    const people = await writePeople(trx, plan, { options, dice, setting })
    const channels = await writeChannels(trx, plan, dice)
    const tokens = await writeTokens(trx, plan, people)
    await insertCodes(trx, plan.codes, idOf(people, plan.people[0]))
    return { people, channels, tokens }
  })
  await writeEvents(database, plan, { options, dice, written })
  await database.write.transaction().execute((trx) => writeFinalStates(trx, plan, written))
  return summaryOf(plan)
}

/** Sets lower prices for the better groups, and a notice about the demo. */
async function setOptions(database: Database): Promise<LiveOptions> {
  const options = await createLiveOptions(database)
  await options.set('GroupRatio', '{"default":1,"vip":0.9,"svip":0.8}')
  await options.set('QuotaForNewUser', String(NEWCOMER_POINTS))
  await options.set(
    'Notice',
    '这是演示数据：用户、渠道、令牌和日志都是生成的，所有渠道都指向本机的模拟上游，程序结束后全部删除。\n\n' +
      'This is demo data: people, channels, tokens and logs are made up, every channel leads to a ' +
      'fake upstream on this machine, and all of it is deleted when the program ends.',
  )
  return options
}

function idOf<T>(ids: ReadonlyMap<T, number>, of: T | undefined): number {
  const id = of === undefined ? undefined : ids.get(of)
  if (id === undefined) throw new Error('the demo refers to a row that was not written')
  return id
}

async function writePeople(
  trx: Queries,
  { people }: DemoPlan,
  { options, dice, setting }: { options: LiveOptions; dice: Dice; setting: DemoSetting },
): Promise<Map<DemoPerson, number>> {
  const ids = new Map<DemoPerson, number>()
  for (const person of people) {
    const id = await insertUser(trx, {
      username: person.username,
      passwordHash: setting.passwordHash,
      display_name: person.displayName,
      role: person.role,
      aff_code: person.affCode,
    })
    if (id === null) throw new Error('the demo needs an empty database')
    await updateUser(trx, id, { email: person.email, group: person.group })
    await creditUser(trx, {
      userId: id,
      amount: NEWCOMER_POINTS,
      kind: 'grant',
      nowSeconds: person.joinedSeconds,
      detail: JSON.stringify({ reason: 'new user' }),
    })
    await insertLog(trx, {
      userId: id,
      username: person.username,
      type: LogType.system,
      content: logText(logRows.new_user, { amount: quotaLogText(NEWCOMER_POINTS, options) }),
      nowSeconds: person.joinedSeconds,
      requestId: requestIdAt(dice, person.joinedSeconds),
    })
    ids.set(person, id)
  }
  return ids
}

async function writeChannels(
  trx: Queries,
  { channels }: DemoPlan,
  dice: Dice,
): Promise<Map<DemoChannel, number>> {
  const ids = new Map<DemoChannel, number>()
  for (const channel of channels) {
    const { name, type, key, status, priority, weight, createdSeconds, balance } = channel
    const [group, models] = [channel.groups.join(','), channel.models.join(',')]
    const row = { name, type, key, status, priority, weight, group, models }
    const checked = newChannels(
      ChannelInput.parse({
        ...row,
        base_url: channel.baseUrl,
        model_mapping: channel.modelMapping,
      }),
    )
    if (!checked.ok) throw new Error(`not a channel: ${name}: ${checked.refusal.code}`)
    const [id] = await insertChannels(trx, checked.value.channels, createdSeconds)
    if (id === undefined) throw new Error(`no id for the channel ${name}`)
    await writeTest(trx, id, { channel, dice })
    const atSeconds = channel.testedSeconds
    if (balance !== null) await saveBalance(trx, { channelId: id, balance, atSeconds })
    ids.set(channel, id)
  }
  return ids
}

async function writeTest(
  trx: Queries,
  id: number,
  { channel, dice }: { channel: DemoChannel; dice: Dice },
): Promise<void> {
  const { name, responseTimeMs, testedSeconds: nowSeconds } = channel
  const content =
    responseTimeMs > 0
      ? logText(logRows.test_passed, { name, reply: channel.models[0] ?? '' })
      : logText(logRows.test_failed, {
          name,
          reason: errorText('upstream_status', 'zh', { status: 500 }),
        })
  await saveTestResult(trx, { id, responseTimeMs, nowSeconds })
  await insertLog(trx, {
    userId: 0,
    username: '',
    type: LogType.test,
    content,
    nowSeconds,
    requestId: requestIdAt(dice, nowSeconds),
    channelId: id,
    modelName: channel.models[0] ?? '',
    elapsedMs: responseTimeMs,
  })
}

/** A limited token starts with the cost of its calls plus its final quota. */
async function writeTokens(
  trx: Queries,
  { tokens, events }: DemoPlan,
  people: ReadonlyMap<DemoPerson, number>,
): Promise<Map<DemoToken, number>> {
  const spent = new Map<DemoToken, number>()
  for (const event of events) {
    if (event.kind === 'call') {
      spent.set(event.token, (spent.get(event.token) ?? 0) + event.cost)
    }
  }
  const ids = new Map<DemoToken, number>()
  for (const token of tokens) {
    const userId = idOf(people, token.owner)
    const quota = token.leftover + (token.isUnlimited ? 0 : (spent.get(token) ?? 0))
    const { id } = await insertToken(trx, {
      user_id: userId,
      key: token.key,
      name: token.name,
      created_time: token.createdSeconds,
      expired_time: token.expiresSeconds,
      remain_quota: quota,
      unlimited_quota: token.isUnlimited,
      models: token.models,
      subnet: token.subnet,
    })
    await openToken(trx, { tokenId: id, userId, quota, nowSeconds: token.createdSeconds })
    ids.set(token, id)
  }
  return ids
}

interface EventSetting {
  options: LiveOptions
  dice: Dice
  written: Written
}

async function writeEvents(
  database: Database,
  { events, people }: DemoPlan,
  setting: EventSetting,
): Promise<void> {
  const admin = people.find(({ role }) => role === Role.admin) ?? people[0]
  let calls: DemoCall[] = []
  const flush = async (): Promise<void> => {
    await settleCalls(database, calls, setting.written)
    calls = []
  }
  for (const event of events) {
    if (event.kind === 'call') calls.push(event)
    // Calls before a top-up are booked before it.
    if (event.kind === 'topUp' || calls.length === CALLS_PER_BATCH) await flush()
    if (event.kind === 'topUp') {
      const actorId = idOf(setting.written.people, admin)
      await database.write
        .transaction()
        .execute((trx) => topUp(trx, event, { ...setting, actorId }))
    }
  }
  await flush()
}

async function settleCalls(
  database: Database,
  calls: readonly DemoCall[],
  written: Written,
): Promise<void> {
  if (calls.length === 0) return
  const results = await database.runLedger(calls.flatMap((call) => operationsOf(call, written)))
  for (const result of results) {
    const isAsPlanned =
      result.kind === 'reserved' || (result.kind === 'settled' && result.debt === 0)
    if (!isAsPlanned) throw new Error(`the demo's ledger answered ${JSON.stringify(result)}`)
  }
}

function operationsOf(call: DemoCall, { people, tokens, channels }: Written): LedgerOperation[] {
  const { token, requestId, cost, atSeconds: nowSeconds } = call
  const [userId, tokenId] = [idOf(people, token.owner), idOf(tokens, token)]
  const settlement = {
    requestId,
    nowSeconds,
    userId,
    tokenId,
    channelId: idOf(channels, call.channel),
    cost,
    promptTokens: call.promptTokens,
    completionTokens: call.completionTokens,
    username: token.owner.username,
    tokenName: token.name,
    modelName: call.modelName,
    detail: call.detail,
    content: call.content,
    elapsedMs: call.elapsedMs,
    isStream: call.isStream,
    systemPromptReset: false,
    keepLog: true,
  }
  return [
    { kind: 'reserve', requestId, userId, tokenId, amount: cost, nowSeconds, node: NODE },
    { kind: 'settle', settlement },
  ]
}

async function topUp(
  trx: Queries,
  event: DemoTopUp,
  { options, dice, written, actorId }: EventSetting & { actorId: number },
): Promise<void> {
  const { person, code, amount, atSeconds: nowSeconds } = event
  const userId = idOf(written.people, person)
  const row = {
    userId,
    username: person.username,
    nowSeconds,
    requestId: requestIdAt(dice, nowSeconds),
  }
  if (code === null) {
    const change = { userId, was: 0, target: amount, actorId, nowSeconds, detail: '' }
    const moved = await setUserQuota(trx, change)
    if (moved === null) throw new Error('the demo tops up somebody who is not there')
    const content = logText(logRows.quota_set, {
      before: quotaLogText(moved.before, options),
      after: quotaLogText(moved.after, options),
    })
    await insertLog(trx, { ...row, type: LogType.manage, content })
    return
  }
  const result = await redeemCode(trx, { key: code.key, userId, nowSeconds })
  if (!result.ok) throw new Error(`the demo's code is ${result.reason}`)
  const content = logText(logRows.redeemed, { amount: quotaLogText(result.quota, options) })
  await insertLog(trx, { ...row, type: LogType.topUp, content })
}

/** Writes the final status of users and tokens, after everything is booked. */
async function writeFinalStates(trx: Queries, plan: DemoPlan, written: Written): Promise<void> {
  for (const person of plan.people) {
    if (person.status !== UserStatus.enabled) {
      await updateUser(trx, idOf(written.people, person), { status: person.status })
    }
  }
  for (const token of plan.tokens) {
    if (token.status !== TokenStatus.enabled) {
      await setTokenStatus(trx, idOf(written.tokens, token), token.status)
    }
  }
}

function summaryOf({ people, channels, tokens, codes, events }: DemoPlan): DemoSummary {
  const token = tokens.find(({ owner }) => owner.username === DEMO_USERNAME)
  if (token === undefined) throw new Error('the demo has nobody to sign in as')
  return {
    people: people.length,
    channels: channels.length,
    tokens: tokens.length,
    codes: codes.length,
    calls: events.filter(({ kind }) => kind === 'call').length,
    username: token.owner.username,
    tokenKey: token.key,
  }
}
