import { z } from 'zod'
import { AppError } from '../../../app-error.ts'
import { SECONDS_PER_DAY } from '../../../clock.ts'
import {
  baseUrlOf,
  belowVersion,
  beside,
  type AskedChannel,
  type AskUpstream,
} from '../../../channel/upstream/channel-upstream.ts'

/**
 * Reads the balance of an upstream account, in the unit that the vendor declares. Only the
 * documented response format is accepted: any other response is an error and never counts as 0.
 */
export type ReadBalance = (question: BalanceQuestion) => Promise<number>

export interface BalanceQuestion {
  channel: AskedChannel
  ask: AskUpstream
  nowSeconds: number
}

/** An amount as a number or as the text of one. */
export const Amount = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d{1,15}(\.\d{1,20})?$/)
    .transform(Number),
])

export const bearer = ({ key }: AskedChannel): Record<string, string> => ({
  authorization: `Bearer ${key}`,
})

/** Parses a response; throws `channel_balance_unreadable` if its format is unknown. */
export function parseBalance<T>(shape: z.ZodType<T>, answer: unknown): T {
  const parsed = shape.safeParse(answer)
  if (!parsed.success) throw new AppError('channel_balance_unreadable')
  return parsed.data
}

/**
 * Error for a balance in another currency. Balances are not converted: the converted amount would
 * not be the account's.
 */
export function otherCurrency(currency: string): AppError {
  return new AppError('channel_balance_currency', { currency })
}

/** Throws if the channel's address is that of a vendor's service outside China, billed in dollars. */
export function rejectDollarHost(channel: AskedChannel, dollarHost: string): void {
  const base = baseUrlOf(channel)
  const host = URL.canParse(base) ? new URL(base).hostname : ''
  if (host === dollarHost || host.endsWith(`.${dollarHost}`)) throw otherCurrency('USD')
}

/** Number of days whose usage is summed for an account without a payment method. */
const PREPAID_DAYS = 100
const CENTS = 100

const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10)

const Subscription = z.object({
  hard_limit_usd: z.number(),
  has_payment_method: z.boolean().default(false),
})

/**
 * Reads the balance from OpenAI's former billing endpoints, which gateways compatible with One API
 * still have.
 */
export const fromSubscription: ReadBalance = async ({ channel, ask, nowSeconds }) => {
  const at = (path: string) => ({
    url: belowVersion(channel, `/v1/dashboard/billing/${path}`),
    headers: bearer(channel),
  })
  const limit = parseBalance(Subscription, await ask(at('subscription')))
  const today = dateOf(nowSeconds)
  // With a payment method, the limit applies to a month.
  const start = limit.has_payment_method
    ? `${today.slice(0, 8)}01`
    : dateOf(nowSeconds - PREPAID_DAYS * SECONDS_PER_DAY)
  const usage = await ask(at(`usage?start_date=${start}&end_date=${today}`))
  const { total_usage: cents } = parseBalance(z.object({ total_usage: z.number() }), usage)
  return limit.hard_limit_usd - cents / CENTS
}

/**
 * Reads a member of `/dashboard/billing/credit_grants`, which is outside the API's version path.
 */
export const fromCreditGrants =
  (member: string): ReadBalance =>
  async ({ channel, ask }) => {
    const url = beside(baseUrlOf(channel), '/dashboard/billing/credit_grants')
    const answer = await ask({ url, headers: bearer(channel) })
    return parseBalance(Amount, answer[member])
  }
