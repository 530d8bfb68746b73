import type { RequestFigures, SurfaceCall } from '../dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import { COMPLETION_TOKENS_MAX, costOf, reservationOf } from '../../ledger/price.ts'
import type { AttemptPlan } from './plan.ts'
import { countedUsage } from '../canonical/token-usage.ts'
import { estimatePromptTokens } from '../count/estimate.ts'
import { WRITING_TASKS } from '../dialect/provider.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { present } from '../json/json-value.ts'
import { outputLimitOf } from '../../model/output-limit.ts'
import { settlementOf } from './settle.ts'
import type { Charge, RelayCall, RelayParts } from './call.ts'
import type { Caller } from '../routing/caller.ts'
import type { Prompt } from '../whole-answer.ts'
import { exactly, reserve, type Amounts, type Wanted } from './reserve-points.ts'

/** Holds back what a call may cost before its upstream is asked. */

interface HeldCall {
  caller: Caller
  asked: SurfaceCall
  body: ScannedBody
  figures: RequestFigures
  /** What the upstream reads again from a stored response. */
  earlierTokens: number
}

interface Asked {
  charge: Charge
  plan: Pick<AttemptPlan, 'estimate' | 'extras' | 'limitsOutput'>
  prompt: Pick<Prompt, 'count'>
  /** What an earlier attempt has held; null if this is the first. */
  held: Hold | null
}

export interface Hold {
  /** Points held back for the call. */
  points: number
  /**
   * The most tokens that each reply may have, because the balance does not cover more; null if it
   * covers all that client and model allow.
   */
  outputLimit: number | null
  /** Later attempts must do with these points. */
  isFixed: boolean
}

/** The reply of a model whose output limit nobody knows is taken to have at most so many tokens. */
const UNKNOWN_REPLY_TOKENS = 131_072

/** Up to here a prompt is counted exactly where a balance is short. */
const EXACT_BYTES_MAX = 64 * 1024

/**
 * Holds back what the call may cost on this channel, or as much of it as balance, token and budgets
 * cover. A call is reserved once: for a dearer channel more is held. Returns null if the balances
 * do not cover that, or the client has left. Throws the refusal that the client is to see.
 */
export async function hold(
  parts: RelayParts,
  call: RelayCall,
  text: HeldCall,
  asked: Asked,
): Promise<Hold | null> {
  const costs = costsOf(parts, text, asked)
  if (asked.held !== null) return holdMore(parts, call, asked.charge, { costs, held: asked.held })
  const reserved = await reserve(parts, call, text.caller, costs)
  if (reserved === null) return null
  const { points, hasBudget } = reserved
  const outputLimit = costs.limitFor(points)
  return { points, outputLimit, isFixed: hasBudget || points < costs.full }
}

/** For a later attempt: extends the reservation, unless the call must do with what it has. */
async function holdMore(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  { costs, held }: { costs: Costs; held: Hold },
): Promise<Hold | null> {
  if (costs.full <= held.points) return { ...held, outputLimit: null }
  const points = held.isFixed ? held.points : await extend(parts, call, charge, costs)
  if (points === null || points < (await costs.exact()).least) return null
  return { ...held, points, outputLimit: costs.limitFor(points) }
}

/** Returns the points held then, as many of `full` as the balances cover; null: it is closed. */
async function extend(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  { full, tokens }: Costs,
): Promise<number | null> {
  const used = countedUsage(tokens, 0)
  const settlement = settlementOf(parts, call, charge, { used, source: 'estimated' })
  try {
    return await parts.app.ledger.extend({ ...settlement, cost: full })
  } catch (error) {
    parts.app.trace.error({ err: error, requestId: call.requestId }, 'nothing could be reserved')
    throw new AppError('busy')
  }
}

interface Costs extends Wanted {
  /** The most tokens of each reply that so many points pay for; null if they pay for all. */
  limitFor(points: number): number | null
}

function costsOf(parts: RelayParts, text: HeldCall, asked: Asked): Costs {
  const { app } = parts
  const { charge, plan } = asked
  const { figures } = text
  const preConsumedTokens = app.options.number('PreConsumedQuota')
  const { maxCompletionTokens } = figures
  const promptTokens =
    plan.estimate?.promptTokens ??
    estimatePromptTokens(text.body, charge.modelName) + text.earlierTokens
  const completionTokens =
    plan.estimate?.completionTokens ??
    Math.min(maxCompletionTokens ?? preConsumedTokens, COMPLETION_TOKENS_MAX)
  const tokens = promptTokens + completionTokens
  const isLimited =
    app.options.flag('ReserveFullAnswer') && WRITING_TASKS.has(text.asked.surface.task)
  if (plan.estimate === null && charge.price.perCall === null && isLimited) {
    return { tokens, ...replyCosts(parts, text, asked, promptTokens) }
  }
  const extras = plan.extras ?? figures.extras
  const most = { promptTokens, maxCompletionTokens, preConsumedTokens, ...present({ extras }) }
  const full =
    plan.estimate === null ? reservationOf(charge.price, most) : costOf(charge.price, plan.estimate)
  return { tokens, ...exactly(full), limitFor: () => null }
}

/** What replies of a text can cost, by how long they may become. */
function replyCosts(
  { app }: RelayParts,
  { figures, body }: HeldCall,
  { charge, plan, prompt }: Asked,
  promptEstimate: number,
): Omit<Costs, 'tokens'> {
  const { maxCompletionTokens, replies = 1 } = figures
  const other = present({ extras: plan.extras ?? figures.extras })
  let promptTokens = promptEstimate
  const pointsOf = (eachTokens: number, read = promptTokens): number =>
    costOf(charge.price, {
      promptTokens: read,
      cachedTokens: 0,
      completionTokens: eachTokens * replies,
      ...other,
    })
  const said = maxCompletionTokens === null ? Infinity : maxCompletionTokens / replies
  const { modelName, channel } = charge
  const capabilities = app.models.table().capabilitiesOf(modelName, channel.type)
  const known = Math.min(said, outputLimitOf({ model: modelName, capabilities }) ?? Infinity)
  const most = Math.min(
    known === Infinity ? UNKNOWN_REPLY_TOKENS : known,
    Math.floor(COMPLETION_TOKENS_MAX / replies),
  )
  const longestWithin = (points: number, read = promptTokens): number => {
    if (pointsOf(most, read) <= points) return most
    let [fits, above] = [0, most]
    while (above - fits > 1) {
      const middle = Math.floor((fits + above) / 2)
      if (pointsOf(middle, read) <= points) fits = middle
      else above = middle
    }
    return fits
  }
  const full = pointsOf(most)
  let exact: Promise<Amounts> | null = null
  const amounts = async (): Promise<Amounts> => {
    if (body.bytes.length <= EXACT_BYTES_MAX) promptTokens = await prompt.count()
    const least = pointsOf(Math.min(1, most))
    if (!plan.limitsOutput) return { full: pointsOf(most), enough: pointsOf(most), least, fit: all }
    const enough = Math.ceil(app.options.number('ReserveMinimumTokens') / replies)
    return {
      full: pointsOf(most),
      enough: pointsOf(Math.min(enough, most)),
      least,
      fit: (free) => pointsOf(longestWithin(free)),
    }
  }
  return {
    full,
    exact: () => (exact ??= amounts()),
    limitFor(points) {
      if (!plan.limitsOutput) return null
      // Our count of the prompt may be above the upstream's: that must not cut a reply short.
      const limit = longestWithin(points, leastPrompt(promptTokens))
      return limit === most ? null : limit
    },
  }
}

/** The prompt tokens that the upstream counts at least, where we count so many. */
const leastPrompt = (counted: number): number => Math.max(0, Math.floor(counted * 0.95) - 8)

/** Of a reply that cannot be limited, as much is held as there is. */
const all = (free: number): number => free
