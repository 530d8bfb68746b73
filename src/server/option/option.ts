import { defaultRatios, ratioMapJson } from './default-ratios.ts'

/**
 * Every option: its default, what values it takes, whether it is secret. An option that is not here
 * does not exist. Values travel and are stored as text.
 */

/** What is wrong with a value, in both languages; null when nothing is. */
export type Problem = { zh: string; en: string } | null

export interface OptionSpec {
  default: string
  /** Never sent; answered only as a name in `secrets_set`. */
  secret?: true
  check(value: string): Problem
}

/** Characters. */
const TEXT_MAX = 1_000_000
const LINE_MAX = 2048
const RATIO_DIGITS_MAX = 15
const RATIO_MAX = 1_000_000

const tooLong = (max: number): Problem => ({
  zh: `最多 ${max} 个字符`,
  en: `it has at most ${max} characters`,
})

const flag = (value: boolean): OptionSpec => ({
  default: String(value),
  check: (text) =>
    text === 'true' || text === 'false'
      ? null
      : { zh: '需要 true 或 false', en: 'it is true or false' },
})

const whole = (value: number, min: number, max: number): OptionSpec => ({
  default: String(value),
  check: (text) =>
    /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? null
      : {
          zh: `需要 ${min} 到 ${max} 之间的整数`,
          en: `it is a whole number from ${min} to ${max}`,
        },
})

const decimal = (value: number, min: number, max: number): OptionSpec => ({
  default: String(value),
  check: (text) =>
    /^\d{1,16}(\.\d{1,10})?$/.test(text) && Number(text) >= min && Number(text) <= max
      ? null
      : { zh: `需要 ${min} 到 ${max} 之间的数`, en: `it is a number from ${min} to ${max}` },
})

const line = (value = ''): OptionSpec => ({
  default: value,
  check(text) {
    if (text.length > LINE_MAX) return tooLong(LINE_MAX)
    // oxlint-disable-next-line no-control-regex -- a header or mail line must not be broken
    return /[\u0000-\u001f]/.test(text) ? { zh: '不能换行', en: 'it is a single line' } : null
  },
})

const secret = (): OptionSpec => ({ ...line(), secret: true })

const longText = (): OptionSpec => ({
  default: '',
  check: (text) => (text.length > TEXT_MAX ? tooLong(TEXT_MAX) : null),
})

const address = (): OptionSpec => ({
  default: '',
  check(text) {
    if (text === '') return null
    const url = URL.canParse(text) ? new URL(text) : null
    return url !== null && (url.protocol === 'http:' || url.protocol === 'https:')
      ? line().check(text)
      : {
          zh: '需要以 http:// 或 https:// 开头的地址',
          en: 'it is an address that starts with http:// or https://',
        }
  },
})

const choice = (value: string, names: readonly string[]): OptionSpec => ({
  default: value,
  check: (text) =>
    names.includes(text)
      ? null
      : { zh: `只能是 ${names.join('、')}`, en: `it is one of ${names.join(', ')}` },
})

const ratios = (defaults: () => string): OptionSpec => ({
  get default() {
    return defaults()
  },
  check(text) {
    const parsed = parseRatios(text)
    return parsed instanceof Map ? null : parsed
  },
})

/**
 * A ratio map from its JSON text, each ratio as the decimal text it was written in: arithmetic on
 * money never sees a floating-point number. Members with up to 15 significant digits, 0 to
 * 1,000,000.
 */
export function parseRatios(text: string): Map<string, string> | { zh: string; en: string } {
  const map = new Map<string, string>()
  let problem: Problem = null
  let parsed: unknown
  try {
    // Innermost members come first, so a nested name that repeats an outer one is overwritten by
    // it.
    const reviver = (key: string, value: unknown, context: { source?: string }): unknown => {
      if (typeof value === 'number') map.set(key, plain(context.source ?? ''))
      return value
    }
    // The library's types do not know the third argument yet; the engine passes it.
    parsed = JSON.parse(text, reviver as (key: string, value: unknown) => unknown)
  } catch {
    return { zh: '不是有效的 JSON', en: 'it is not valid JSON' }
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return { zh: '需要 JSON 对象', en: 'it is a JSON object' }
  }
  for (const [name, value] of Object.entries(parsed)) {
    const ratio = map.get(name)
    if (typeof value !== 'number' || ratio === undefined) {
      problem = { zh: `「${name}」的值不是数字`, en: `the value of “${name}” is not a number` }
    } else if (!(value >= 0 && value <= RATIO_MAX) || significantDigits(ratio) > RATIO_DIGITS_MAX) {
      problem = {
        zh: `「${name}」的倍率需要在 0 到 ${RATIO_MAX} 之间，最多 ${RATIO_DIGITS_MAX} 位有效数字`,
        en: `the ratio of “${name}” is from 0 to ${RATIO_MAX} with at most ${RATIO_DIGITS_MAX} significant digits`,
      }
    }
    if (problem !== null) return problem
  }
  return map
}

/** Decimal text without an exponent: `7.5e-2` is `0.075`. */
function plain(source: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source)
  if (match === null) return source
  const [, sign = '', whole_ = '', fraction = '', exponent] = match
  if (exponent === undefined) return source
  const digits = whole_ + fraction
  const point = whole_.length + Number(exponent)
  // The value was found to be at most a million before this text is used; bounds the padding.
  if (Math.abs(point) > 400) return source
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return `${sign}${digits}${'0'.repeat(point - digits.length)}`
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

const significantDigits = (text: string): number => {
  const digits = text.replace(/[-.]/g, '').replace(/^0+/, '')
  return digits.length
}

const POINTS_MAX = 2 ** 50
const THEMES = ['default', 'berry', 'air'] as const

export const options = {
  PasswordLoginEnabled: flag(true),
  PasswordRegisterEnabled: flag(true),
  RegisterEnabled: flag(true),
  EmailVerificationEnabled: flag(false),
  GitHubOAuthEnabled: flag(false),
  GitHubClientId: line(),
  GitHubClientSecret: secret(),
  LarkClientId: line(),
  LarkClientSecret: secret(),
  OidcEnabled: flag(false),
  OidcClientId: line(),
  OidcClientSecret: secret(),
  OidcWellKnown: address(),
  OidcAuthorizationEndpoint: address(),
  OidcTokenEndpoint: address(),
  OidcUserinfoEndpoint: address(),
  WeChatAuthEnabled: flag(false),
  WeChatServerAddress: address(),
  WeChatServerToken: secret(),
  WeChatAccountQRCodeImageURL: address(),
  TurnstileCheckEnabled: flag(false),
  TurnstileSiteKey: line(),
  TurnstileSecretKey: secret(),
  EmailDomainRestrictionEnabled: flag(false),
  EmailDomainWhitelist: line(
    'gmail.com,163.com,126.com,qq.com,outlook.com,hotmail.com,icloud.com,yahoo.com,foxmail.com',
  ),
  SMTPServer: line(),
  SMTPPort: whole(587, 1, 65_535),
  SMTPAccount: line(),
  SMTPFrom: line(),
  SMTPToken: secret(),
  MessagePusherAddress: address(),
  MessagePusherToken: secret(),
  ServerAddress: address(),
  Notice: longText(),
  About: longText(),
  HomePageContent: longText(),
  Footer: longText(),
  SystemName: line('Gatehouse'),
  Logo: line(),
  Theme: choice('default', THEMES),
  TopUpLink: address(),
  ChatLink: address(),
  QuotaForNewUser: whole(0, 0, POINTS_MAX),
  QuotaForInviter: whole(0, 0, POINTS_MAX),
  QuotaForInvitee: whole(0, 0, POINTS_MAX),
  QuotaRemindThreshold: whole(1000, 0, POINTS_MAX),
  PreConsumedQuota: whole(500, 0, 10_000_000),
  ModelRatio: ratios(() => ratioMapJson(defaultRatios().ModelRatio)),
  CompletionRatio: ratios(() => ratioMapJson(defaultRatios().CompletionRatio)),
  GroupRatio: ratios(() => ratioMapJson(defaultRatios().GroupRatio)),
  CacheRatio: ratios(() => ratioMapJson(defaultRatios().CacheRatio)),
  /** Ratio of models without an entry of their own; empty: they are refused. Ours. */
  DefaultModelRatio: {
    default: '',
    check: (text: string): Problem => (text === '' ? null : decimal(0, 0, RATIO_MAX).check(text)),
  },
  QuotaPerUnit: decimal(500_000, 0.01, 1e12),
  DisplayInCurrencyEnabled: flag(true),
  DisplayTokenStatEnabled: flag(true),
  ApproximateTokenEnabled: flag(false),
  LogConsumeEnabled: flag(true),
  RetryTimes: whole(2, 0, 100),
  AutomaticDisableChannelEnabled: flag(false),
  AutomaticEnableChannelEnabled: flag(false),
  ChannelDisableThreshold: decimal(5, 0, 100_000),
} as const satisfies Record<string, OptionSpec>

export type OptionKey = keyof typeof options

export const isOptionKey = (key: string): key is OptionKey => Object.hasOwn(options, key)

export const isSecretOption = (key: OptionKey): boolean => {
  const spec: OptionSpec = options[key]
  return spec.secret === true
}

/** What must be filled in before a switch may be turned on. */
export const prerequisites: Partial<Record<OptionKey, readonly OptionKey[]>> = {
  GitHubOAuthEnabled: ['GitHubClientId', 'GitHubClientSecret'],
  OidcEnabled: ['OidcClientId', 'OidcClientSecret'],
  WeChatAuthEnabled: ['WeChatServerAddress', 'WeChatServerToken'],
  TurnstileCheckEnabled: ['TurnstileSiteKey', 'TurnstileSecretKey'],
  EmailDomainRestrictionEnabled: ['EmailDomainWhitelist'],
}

/** The prerequisite that keeps `key` from being set to `value`, or null. */
export function missingPrerequisite(
  key: OptionKey,
  value: string,
  current: (key: OptionKey) => string,
): OptionKey | null {
  if (value !== 'true') return null
  return prerequisites[key]?.find((needed) => current(needed) === '') ?? null
}
