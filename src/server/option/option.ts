import { QUOTA_MAX } from '../../contract/quota.ts'
import { defaultRatios, ratioMapJson } from './default-ratios.ts'
import {
  address,
  choice,
  decimal,
  domains,
  flag,
  line,
  longText,
  groupRatios,
  orNothing,
  picture,
  ratios,
  secret,
  sender,
  timeZone,
  typeList,
  whole,
  type OptionSpec,
} from './option-value.ts'
import { modelCapabilities } from '../model/model-option.ts'
import { priceTiers } from './price-tiers.ts'
import { usableGroups } from './usable-groups.ts'

/**
 * Every option: its default, what values it takes, whether it is secret. An option that is not here
 * does not exist.
 */

const LANGUAGES = ['zh', 'en'] as const
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
  WeChatAccountQRCodeImageURL: picture(),
  TurnstileCheckEnabled: flag(false),
  TurnstileSiteKey: line(),
  TurnstileSecretKey: secret(),
  EmailDomainRestrictionEnabled: flag(false),
  EmailDomainWhitelist: domains(
    'gmail.com,163.com,126.com,qq.com,outlook.com,hotmail.com,icloud.com,yahoo.com,foxmail.com',
  ),
  SMTPServer: line(),
  SMTPPort: whole(587, 1, 65_535),
  SMTPAccount: line(),
  SMTPFrom: sender(),
  SMTPToken: secret(),
  MessagePusherAddress: address(),
  MessagePusherToken: secret(),
  ServerAddress: address(),
  Notice: longText(),
  About: longText(),
  HomePageContent: longText(),
  Footer: longText(),
  SystemName: line('Gatehouse'),
  Logo: picture(),
  Theme: choice('default', THEMES),
  TopUpLink: address(),
  ChatLink: address(),
  QuotaForNewUser: whole(0, 0, QUOTA_MAX),
  QuotaForInviter: whole(0, 0, QUOTA_MAX),
  QuotaForInvitee: whole(0, 0, QUOTA_MAX),
  QuotaRemindThreshold: whole(1000, 0, QUOTA_MAX),
  /** Hold back all that a reply may cost, and limit it to what the balance covers. Ours. */
  ReserveFullAnswer: flag(true),
  /** Output tokens below which a call waits for the points that other calls hold. Ours. */
  ReserveMinimumTokens: whole(1024, 1, 1_000_000),
  /** Tokens to hold back where the client sets no limit and `ReserveFullAnswer` is off. */
  PreConsumedQuota: whole(500, 0, 10_000_000),
  /** Minutes without use after which a session ends; 0: never. Ours. */
  SessionIdleMinutes: whole(0, 0, 43_200),
  /** In which zone days, weeks and months of budgets begin. Ours. */
  LimitTimeZone: timeZone('UTC'),
  ModelRatio: ratios(() => ratioMapJson(defaultRatios().ModelRatio)),
  CompletionRatio: ratios(() => ratioMapJson(defaultRatios().CompletionRatio)),
  GroupRatio: groupRatios(() => ratioMapJson(defaultRatios().GroupRatio)),
  /** Groups that anybody may give to tokens. One API's relatives have it. */
  UserUsableGroups: usableGroups(),
  CacheRatio: ratios(() => ratioMapJson(defaultRatios().CacheRatio)),
  CreateCacheRatio: ratios(() => ratioMapJson(defaultRatios().CreateCacheRatio)),
  CreateCache1hRatio: ratios(() => ratioMapJson(defaultRatios().CreateCache1hRatio)),
  /** Dollars a call, for models that are not sold by the token. */
  ModelPrice: ratios(() => ratioMapJson(defaultRatios().ModelPrice)),
  AudioRatio: ratios(() => ratioMapJson(defaultRatios().AudioRatio)),
  AudioCompletionRatio: ratios(() => ratioMapJson(defaultRatios().AudioCompletionRatio)),
  ImageRatio: ratios(() => ratioMapJson(defaultRatios().ImageRatio)),
  /** Ours, like the four after it. */
  ImageCompletionRatio: ratios(() => ratioMapJson(defaultRatios().ImageCompletionRatio)),
  PictureRatio: ratios(() => ratioMapJson(defaultRatios().PictureRatio)),
  ToolPrice: ratios(() => ratioMapJson(defaultRatios().ToolPrice)),
  PriceTiers: priceTiers(),
  /** What models can do, where models.dev does not know it. Ours. */
  ModelCapabilities: modelCapabilities(),
  /** Points for a call through a raw proxy channel. */
  ProxyCallQuota: whole(0, 0, QUOTA_MAX),
  /** Ratio of models without an entry of their own; empty: they are refused. Ours. */
  DefaultModelRatio: orNothing(decimal(0, 0, 1_000_000)),
  QuotaPerUnit: decimal(500_000, 0.01, 1e12),
  DisplayInCurrencyEnabled: flag(true),
  DisplayTokenStatEnabled: flag(true),
  ApproximateTokenEnabled: flag(false),
  LogConsumeEnabled: flag(true),
  /** Days after which log rows are deleted; 0: they stay. Ours. */
  LogRetentionDays: whole(0, 0, 36_500),
  /** Days that captured requests and answers are kept. Ours. */
  LogBodyRetentionDays: whole(7, 1, 36_500),
  /** Longest captured text in KiB; 0: nothing is captured, whatever tokens ask for. Ours. */
  LogBodyKilobytesMax: whole(64, 0, 1024),
  /** Parameters that an upstream does not have are refused instead of left out. Ours. */
  StrictParameters: flag(false),
  /**
   * Channel types at which tools that a vendor runs are left out where the model cannot have them:
   * a comma list of numbers, or `*` for all; empty: they are refused. Ours.
   */
  DropHostedTools: typeList(),
  /** Of errors to programs that name no language and whose owner's is not known. Ours. */
  DefaultLanguage: choice('zh', LANGUAGES),
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

/**
 * What must be filled in before a switch may be turned on, on the wire: what One API asks for,
 * whose consoles and scripts save the rest in any order, and the mail server for verification.
 * Our console asks for all of it.
 */
export const prerequisites: Partial<Record<OptionKey, OptionKey>> = {
  GitHubOAuthEnabled: 'GitHubClientId',
  WeChatAuthEnabled: 'WeChatServerAddress',
  TurnstileCheckEnabled: 'TurnstileSiteKey',
  // Else nobody could register, and nobody would be told why.
  EmailVerificationEnabled: 'SMTPServer',
  EmailDomainRestrictionEnabled: 'EmailDomainWhitelist',
}

/** What keeps `key` from being set to `value`: an option that holds nothing yet; null: nothing. */
export function missingPrerequisite(
  key: OptionKey,
  value: string,
  current: (key: OptionKey) => string,
): OptionKey | null {
  const needed = value === 'true' ? prerequisites[key] : undefined
  return needed === undefined || current(needed) !== '' ? null : needed
}

/** A switch that is on and could not be turned on any more if `key` were emptied; null: none is. */
export function switchThatNeeds(
  key: OptionKey,
  value: string,
  current: (key: OptionKey) => string,
): OptionKey | null {
  if (value !== '') return null
  const after = (other: OptionKey): string => (other === key ? '' : current(other))
  const switches = Object.keys(prerequisites).filter(isOptionKey)
  return (
    switches.find(
      (name) =>
        missingPrerequisite(name, current(name), after) !== null &&
        missingPrerequisite(name, current(name), current) === null,
    ) ?? null
  )
}

/** Where each secret is sent: to the first of these that holds something. */
const secretAddresses: Partial<Record<OptionKey, readonly OptionKey[]>> = {
  SMTPToken: ['SMTPServer'],
  WeChatServerToken: ['WeChatServerAddress'],
  MessagePusherToken: ['MessagePusherAddress'],
  OidcClientSecret: ['OidcTokenEndpoint', 'OidcWellKnown'],
}

/**
 * The secret that would go elsewhere than where it was entered for if `key` became `value`: to
 * another host or port, or by http, which anybody on the way can read. Null: none would. Whoever
 * may write addresses could otherwise have it sent to himself.
 */
export function secretLeftBehind(
  key: OptionKey,
  value: string,
  current: (key: OptionKey) => string,
): OptionKey | null {
  const after = (other: OptionKey): string => (other === key ? value : current(other))
  const placeIn = (of: (key: OptionKey) => string, addresses: readonly OptionKey[]): string =>
    placeOf(addresses.map(of).find((text) => text !== '') ?? '')
  for (const secretKey of Object.keys(secretAddresses).filter(isOptionKey)) {
    const addresses = secretAddresses[secretKey] ?? []
    const before = placeIn(current, addresses)
    const isMoved = before !== '' && before !== placeIn(after, addresses)
    if (isMoved && current(secretKey) !== '') return secretKey
  }
  return null
}

/** The origin of an address; a mail server is only a name. */
const placeOf = (text: string): string =>
  /^https?:/i.test(text) && URL.canParse(text) ? new URL(text).origin : text.trim().toLowerCase()
