import { NEVER_EXPIRES, TOKEN_KEY_LENGTH, TokenStatus } from '../../contract/token.ts'
import { SECONDS_PER_DAY } from '../clock.ts'
import type { DemoPerson } from './demo-people.ts'
import { LETTERS_AND_DIGITS, type Dice } from './dice.ts'

/** A token of the demo without an id. Its quota is derived from its calls. */
export interface DemoToken {
  owner: DemoPerson
  name: string
  key: string
  status: number
  createdSeconds: number
  /** End of its calls: expired, disabled, exhausted, or now. */
  endsSeconds: number
  expiresSeconds: number
  isUnlimited: boolean
  /** Points left at the end; unlimited tokens have the wire's -1. */
  leftover: number
  models: string
  subnet: string
}

const NAMES = [
  '生产环境',
  '测试环境',
  'Cherry Studio',
  'LobeChat',
  'ChatBox',
  'NextChat',
  'Open WebUI',
  'Dify 工作流',
  '知识库问答',
  '客服机器人',
  '代码补全',
  '沉浸式翻译',
  '论文润色',
  '周报助手',
  '数据清洗',
  '定时任务',
  '自动化脚本',
  '移动端',
  '临时调试',
  '备用令牌',
]

type Fate = 'plain' | 'limited' | 'expiring' | 'disabled' | 'expired' | 'exhausted'

/** Out of twenty tokens. */
const FATES: readonly (readonly [fate: Fate, share: number])[] = [
  ['plain', 7],
  ['limited', 5],
  ['expiring', 2],
  ['disabled', 2],
  ['expired', 2],
  ['exhausted', 2],
]

const SUBNETS = ['10.0.0.0/8', '192.168.0.0/16', '172.16.0.0/12,10.8.0.0/16']
/** Typical number of points left of a limited token. */
const LEFTOVER = 1_200_000
const LIFE_SECONDS_MIN = 3 * SECONDS_PER_DAY
const UNLIMITED_QUOTA = -1

export interface TokenSetting {
  dice: Dice
  count: number
  people: readonly DemoPerson[]
  nowSeconds: number
}

/** Returns the demo's tokens: one that always works for each person, then more, in all states. */
export function planTokens(setting: TokenSetting): DemoToken[] {
  const { dice, count, people } = setting
  const first = people.map((owner) => firstToken(owner, dice))
  const more = Array.from({ length: Math.max(0, count - people.length) }, () =>
    anotherToken(
      dice.weighted(people, ({ activity }) => activity),
      setting,
    ),
  ).toSorted((one, other) => one.createdSeconds - other.createdSeconds)
  for (const tokens of Map.groupBy(more, ({ owner }) => owner).values()) nameApart(tokens, dice)
  return [...first, ...more]
}

/** Names repeat only after all have been used. */
function nameApart(tokens: readonly DemoToken[], dice: Dice): void {
  let left: string[] = []
  for (const token of tokens) {
    if (left.length === 0) left = [...NAMES]
    token.name = dice.pick(left)
    left.splice(left.indexOf(token.name), 1)
  }
}

const firstToken = (owner: DemoPerson, dice: Dice): DemoToken => ({
  owner,
  name: 'default',
  key: dice.text(TOKEN_KEY_LENGTH, LETTERS_AND_DIGITS),
  status: TokenStatus.enabled,
  createdSeconds: owner.joinedSeconds,
  endsSeconds: owner.leavesSeconds,
  expiresSeconds: NEVER_EXPIRES,
  isUnlimited: true,
  leftover: UNLIMITED_QUOTA,
  models: '',
  subnet: '',
})

function anotherToken(owner: DemoPerson, { dice, nowSeconds }: TokenSetting): DemoToken {
  const token = firstToken(owner, dice)
  // Early enough to have been used before its end.
  const latest = owner.leavesSeconds - 2 * LIFE_SECONDS_MIN
  token.createdSeconds = dice.whole(owner.joinedSeconds, Math.max(owner.joinedSeconds, latest))
  const earliestEnd = Math.min(owner.leavesSeconds, token.createdSeconds + LIFE_SECONDS_MIN)
  const end = dice.whole(earliestEnd, owner.leavesSeconds)
  if (dice.percent(8)) token.models = owner.favourites.map(({ name }) => name).join(',')
  if (dice.percent(6)) token.subnet = dice.pick(SUBNETS)
  const [fate] = dice.weighted(FATES, ([, share]) => share)
  return withFate(token, fate, { dice, end, nowSeconds })
}

function withFate(
  token: DemoToken,
  fate: Fate,
  { dice, end, nowSeconds }: { dice: Dice; end: number; nowSeconds: number },
): DemoToken {
  const limited = { isUnlimited: false, leftover: Math.round(dice.spread(LEFTOVER, 1.2)) }
  switch (fate) {
    case 'plain':
      return token
    case 'limited':
      return { ...token, ...limited }
    case 'expiring':
      return { ...token, expiresSeconds: nowSeconds + dice.whole(1, 90) * SECONDS_PER_DAY }
    case 'disabled':
      return { ...token, status: TokenStatus.disabled, endsSeconds: end }
    case 'expired':
      return { ...token, status: TokenStatus.expired, endsSeconds: end, expiresSeconds: end }
    case 'exhausted':
      return {
        ...token,
        status: TokenStatus.exhausted,
        endsSeconds: end,
        isUnlimited: false,
        leftover: 0,
      }
    default:
      return fate satisfies never
  }
}
