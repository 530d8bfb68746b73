import { z } from 'zod'
import { channelType, trimBaseUrl } from '../../../contract/channel-types.ts'
import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import { AppError } from '../../app-error.ts'
import { SECONDS_PER_DAY } from '../../clock.ts'
import {
  baseUrlOf,
  beside,
  belowVersion,
  type AskedChannel,
  type AskUpstream,
} from './channel-upstream.ts'

/**
 * How each kind of upstream is asked what is left on its account. An answer counts only in the
 * shape its provider documents: whatever else comes is no balance, and never 0.
 */

/** An amount as a number, or as a text of one. */
const Amount = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d{1,15}(\.\d{1,20})?$/)
    .transform(Number),
])

interface Question {
  channel: AskedChannel
  ask: AskUpstream
  nowSeconds: number
}

type ReadBalance = (question: Question) => Promise<number>

const bearer = ({ key }: AskedChannel): Record<string, string> => ({
  authorization: `Bearer ${key}`,
})

function read<T>(shape: z.ZodType<T>, answer: unknown): T {
  const parsed = shape.safeParse(answer)
  if (!parsed.success) throw new AppError('channel_balance_unreadable')
  return parsed.data
}

/** How far back usage is asked for where no payment method says that it is counted by months. */
const PREPAID_DAYS = 100
const CENTS = 100

const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10)

const Subscription = z.object({
  hard_limit_usd: z.number(),
  has_payment_method: z.boolean().default(false),
})

/** OpenAI's former billing addresses, which gateways of the family still answer (1, 8). */
const fromSubscription: ReadBalance = async ({ channel, ask, nowSeconds }) => {
  const at = (path: string) => ({
    url: belowVersion(channel, `/v1/dashboard/billing/${path}`),
    headers: bearer(channel),
  })
  const limit = read(Subscription, await ask(at('subscription')))
  const today = dateOf(nowSeconds)
  const start = limit.has_payment_method
    ? `${today.slice(0, 8)}01`
    : dateOf(nowSeconds - PREPAID_DAYS * SECONDS_PER_DAY)
  const usage = await ask(at(`usage?start_date=${start}&end_date=${today}`))
  const { total_usage: cents } = read(z.object({ total_usage: z.number() }), usage)
  return limit.hard_limit_usd - cents / CENTS
}

/** One member of one answer beside the API's versions (4, 12, 13). */
const fromCreditGrants =
  (member: string): ReadBalance =>
  async ({ channel, ask }) => {
    const url = beside(baseUrlOf(channel), '/dashboard/billing/credit_grants')
    const answer = await ask({ url, headers: bearer(channel) })
    return read(Amount, answer[member])
  }

/** Ten-thousandths of a yuan; the key is in the address, as this provider wants it (5). */
const fromOpenAiSb: ReadBalance = async ({ channel, ask }) => {
  const query = `api_key=${encodeURIComponent(channel.key)}`
  const url = beside(baseUrlOf(channel), `/sb-api/user/status?${query}`)
  const Answer = z.object({ data: z.object({ credit: Amount }) })
  return read(Answer, await ask({ url, headers: bearer(channel) })).data.credit
}

/** Points. The account lives at the site's own name, not at the API's (10). */
const fromAiProxy: ReadBalance = async ({ channel, ask }) => {
  const base = trimBaseUrl(channel.base_url ?? '') || 'https://aiproxy.io'
  const url = beside(base, '/api/report/getUserOverview')
  const Answer = z.object({ success: z.literal(true), data: z.object({ totalPoints: Amount }) })
  return read(Answer, await ask({ url, headers: { 'api-key': channel.key } })).data.totalPoints
}

/**
 * Only management keys are told the account's credits. A key that calls models is told what its own
 * limit leaves, if it has one. Source: OpenRouter's API reference, "Get credits", "Get current API
 * key".
 */
const fromOpenRouter: ReadBalance = async ({ channel, ask }) => {
  const asked = (path: string) =>
    ask({ url: belowVersion(channel, path), headers: bearer(channel) })
  try {
    const Answer = z.object({ data: z.object({ total_credits: Amount, total_usage: Amount }) })
    const { data } = read(Answer, await asked('/v1/credits'))
    return data.total_credits - data.total_usage
  } catch (error) {
    if (!isDenied(error)) throw error
    const Key = z.object({ data: z.object({ limit_remaining: Amount.nullable() }) })
    const left = read(Key, await asked('/v1/key')).data.limit_remaining
    if (left === null) throw error
    return left
  }
}

const isDenied = (error: unknown): boolean =>
  error instanceof AppError && [401, 403].includes(Number(error.params['status']))

/** Who sells in China and abroad does it in two currencies, at different addresses. */
function refuseDollars(channel: AskedChannel, abroad: string): void {
  const base = baseUrlOf(channel)
  const host = URL.canParse(base) ? new URL(base).hostname : ''
  // Shown as yuan it would be a different amount.
  if (host === abroad || host.endsWith(`.${abroad}`)) {
    throw new AppError('channel_balance_currency', { currency: 'USD' })
  }
}

/** Source: Kimi's API reference, "Get balance": USD at moonshot.ai, CNY at moonshot.cn. */
const fromMoonshot: ReadBalance = async ({ channel, ask }) => {
  refuseDollars(channel, 'moonshot.ai')
  const url = belowVersion(channel, '/v1/users/me/balance')
  const Answer = z.object({ code: z.literal(0), data: z.object({ available_balance: Amount }) })
  return read(Answer, await ask({ url, headers: bearer(channel) })).data.available_balance
}

const fromDeepSeek: ReadBalance = async ({ channel, ask }) => {
  const url = beside(baseUrlOf(channel), '/user/balance')
  const Info = z.object({ currency: z.string().max(8), total_balance: Amount })
  const Answer = z.object({ balance_infos: z.array(Info).min(1) })
  const { balance_infos: infos } = read(Answer, await ask({ url, headers: bearer(channel) }))
  const yuan = infos.find(({ currency }) => currency === 'CNY')
  // Shown as yuan it would be a different amount.
  if (yuan === undefined) {
    throw new AppError('channel_balance_currency', { currency: infos[0]?.currency ?? '' })
  }
  return yuan.total_balance
}

const SILICON_FLOW_OK = 20_000

/** Source: SiliconFlow's pricing: USD at siliconflow.com, CNY at siliconflow.cn. */
const fromSiliconFlow: ReadBalance = async ({ channel, ask }) => {
  refuseDollars(channel, 'siliconflow.com')
  const url = belowVersion(channel, '/v1/user/info')
  const Answer = z.object({
    code: z.literal(SILICON_FLOW_OK),
    data: z.object({ totalBalance: Amount }),
  })
  return read(Answer, await ask({ url, headers: bearer(channel) })).data.totalBalance
}

const readers: ReadonlyMap<number, ReadBalance> = new Map([
  [ChannelTypeNumber.openai, fromSubscription],
  [ChannelTypeNumber.closeAi, fromCreditGrants('total_available')],
  [ChannelTypeNumber.openaiSb, fromOpenAiSb],
  [ChannelTypeNumber.custom, fromSubscription],
  [ChannelTypeNumber.aiProxy, fromAiProxy],
  [ChannelTypeNumber.api2Gpt, fromCreditGrants('total_remaining')],
  [ChannelTypeNumber.aigc2d, fromCreditGrants('total_available')],
  [ChannelTypeNumber.openrouter, fromOpenRouter],
  [ChannelTypeNumber.moonshot, fromMoonshot],
  [ChannelTypeNumber.deepseek, fromDeepSeek],
  [ChannelTypeNumber.siliconflow, fromSiliconFlow],
])

/** Types whose upstream can be asked. */
export const typesWithBalance: readonly number[] = [...readers.keys()]

/** Decimals that are kept: differences of amounts leave more behind. */
const PRECISION = 1e6

/** What is left, in the unit of the type. Throws the refusal that says why it is not known. */
export async function readBalance(question: Question): Promise<number> {
  const { type } = question.channel
  const reader = readers.get(type)
  if (reader === undefined) {
    throw new AppError('channel_balance_unsupported', { type: channelType(type).label.zh })
  }
  return Math.round((await reader(question)) * PRECISION) / PRECISION
}

/** A channel and its balance as they were before it was asked. */
export interface BeforeBalance {
  type: number
  status: number
  balance: number | null
  askedSeconds: number | null
  /** Why the program has disabled it; null: it has not, or nobody knows. */
  pausedFor: string | null
}

/**
 * The status that a balance gives a channel, or null: it keeps its own. What was disabled because
 * none was left is enabled when there is one. Nothing left must have been found twice in a row.
 * Never for type 1: its maker no longer tells keys what is left, and those who still answer there
 * may say 0 whatever it is.
 */
export function statusAfterBalance(
  before: BeforeBalance,
  balance: number,
  { disables, enables }: { disables: boolean; enables: boolean },
): number | null {
  const isFilled = balance > 0 && before.pausedFor === 'balance'
  if (enables && isFilled && before.status === ChannelStatus.autoDisabled) {
    return ChannelStatus.enabled
  }
  const wasEmpty = (before.askedSeconds ?? 0) > 0 && (before.balance ?? 0) <= 0
  const isSpent = balance <= 0 && wasEmpty && before.type !== ChannelTypeNumber.openai
  return disables && isSpent && before.status === ChannelStatus.enabled
    ? ChannelStatus.autoDisabled
    : null
}
