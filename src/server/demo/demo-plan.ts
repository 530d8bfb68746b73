import { RedemptionStatus } from '../../contract/redemption.ts'
import { SECONDS_PER_DAY } from '../clock.ts'
import type { Ratios } from '../option/live-options.ts'
import { planCalls, type DemoCall } from './demo-calls.ts'
import { planChannels, type DemoChannel } from './demo-channels.ts'
import { planPeople, type DemoPerson } from './demo-people.ts'
import { planTimes } from './demo-times.ts'
import { planTokens, type DemoToken } from './demo-tokens.ts'
import { createDice, HEX_DIGITS, type Dice } from './dice.ts'

/** Number of rows of each kind. */
export interface DemoSize {
  people: number
  channels: number
  tokens: number
  codes: number
  calls: number
  days: number
}

/** A redemption code of the demo without an id. */
export interface DemoCode {
  key: string
  name: string
  points: number
  /** Final status; a code that will be used begins as unused. */
  finalStatus: number
  createdSeconds: number
}

export interface DemoTopUp {
  kind: 'topUp'
  atSeconds: number
  person: DemoPerson
  /** Null if an administrator adds `amount` manually. */
  code: DemoCode | null
  /** In points. */
  amount: number
}

/** All data to write, planned in advance: the same seed gives the same demo. */
export interface DemoPlan {
  /** Time of the first calls. */
  startSeconds: number
  people: DemoPerson[]
  tokens: DemoToken[]
  channels: DemoChannel[]
  codes: DemoCode[]
  /** Calls and top-ups in order. */
  events: (DemoCall | DemoTopUp)[]
}

export interface PlanSetting {
  seed: number
  size: DemoSize
  nowSeconds: number
  /** Address of the upstream of all channels. */
  upstreamUrl: string
  ratios: Ratios
}

/** Points of every new user of the demo. */
export const NEWCOMER_POINTS = 1_000_000

export function planDemo({ seed, size, nowSeconds, upstreamUrl, ratios }: PlanSetting): DemoPlan {
  const dice = createDice(seed)
  const startSeconds = nowSeconds - size.days * SECONDS_PER_DAY
  const time = { startSeconds, nowSeconds }
  const people = planPeople({ dice, count: size.people, ...time })
  const tokens = planTokens({ dice, count: size.tokens, people, nowSeconds })
  const channels = planChannels({ dice, count: size.channels, upstreamUrl, ...time })
  const codes = planCodes(dice, size.codes, time)
  const times = planTimes({ dice, count: size.calls }, { startSeconds, endSeconds: nowSeconds })
  const calls = planCalls(times, { dice, ratios, people, tokens, channels })
  const topUps = planTopUps(calls, { dice, people, codes, ...time })
  const events = [...topUps, ...calls].toSorted((one, other) => one.atSeconds - other.atSeconds)
  return { startSeconds, people, tokens, channels, codes, events }
}

const CODE_NAMES = ['新用户礼包', '国庆活动', '社区贡献奖', '老客户回馈', '渠道推广', '内测补偿']
const CODE_POINTS = [500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000]

/** Share of used codes; they are the oldest. */
const USED_SHARE = 0.55
/** One in this many of the other users is disabled. */
const WITHDRAWN_EACH = 4

/** Returns the codes: more than half are used, some are disabled, the rest are unused. */
function planCodes(
  dice: Dice,
  count: number,
  { startSeconds, nowSeconds }: { startSeconds: number; nowSeconds: number },
): DemoCode[] {
  return Array.from({ length: count }, (_, index) => {
    const place = (index / count - USED_SHARE) / (1 - USED_SHARE)
    const status = place < 0 ? 'used' : index % WITHDRAWN_EACH === 0 ? 'disabled' : 'unused'
    return {
      key: dice.text(32, HEX_DIGITS),
      name: dice.pick(CODE_NAMES),
      points: dice.pick(CODE_POINTS),
      finalStatus: RedemptionStatus[status],
      createdSeconds:
        status === 'used'
          ? startSeconds - dice.whole(1, 9) * SECONDS_PER_DAY
          : Math.floor(startSeconds + place * (nowSeconds - startSeconds)),
    }
  })
}

/** Amounts that an administrator adds if a user has no code left: $5, $10, $50. */
const GRANT_POINTS = [2_500_000, 5_000_000, 25_000_000]
const BY_HAND_PERCENT = 25
/** Root gets enough points for the whole time: $10,000. */
const ROOT_POINTS = 5_000_000_000

interface TopUpSetting {
  dice: Dice
  people: readonly DemoPerson[]
  codes: readonly DemoCode[]
  startSeconds: number
  nowSeconds: number
}

/**
 * Plans a top-up shortly before a balance runs low, mostly with a code while there are any. No
 * balance is ever negative, and every code that ends as used is used.
 */
function planTopUps(calls: readonly DemoCall[], setting: TopUpSetting): DemoTopUp[] {
  const { dice, people, codes, startSeconds, nowSeconds } = setting
  const [root, ...others] = people
  const waiting = codes.filter(({ finalStatus }) => finalStatus === RedemptionStatus.used)
  const balances = new Map(people.map((person) => [person, NEWCOMER_POINTS]))
  const topUps: DemoTopUp[] = []

  function topUp(person: DemoPerson, atSeconds: number): number {
    const isRoot = person === root
    const hasCode = !isRoot && !dice.percent(BY_HAND_PERCENT)
    const code = hasCode ? (waiting.shift() ?? null) : null
    const amount = isRoot ? ROOT_POINTS : (code?.points ?? dice.pick(GRANT_POINTS))
    topUps.push({ kind: 'topUp', atSeconds, person, code, amount })
    return amount
  }

  if (root !== undefined) balances.set(root, NEWCOMER_POINTS + topUp(root, root.joinedSeconds))
  for (const { token, cost, atSeconds } of calls) {
    const person = token.owner
    let balance = balances.get(person) ?? 0
    while (balance < cost) {
      const earlier = atSeconds - dice.whole(30, 900)
      balance += topUp(person, Math.max(person.joinedSeconds, earlier))
    }
    balances.set(person, balance - cost)
  }
  const present = others.filter(({ leavesSeconds }) => leavesSeconds === nowSeconds)
  while (waiting.length > 0) {
    const person = dice.pick(present)
    topUp(person, dice.whole(Math.max(startSeconds, person.joinedSeconds), nowSeconds - 1))
  }
  return topUps
}
