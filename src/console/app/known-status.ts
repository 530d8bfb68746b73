import { PRESET_PROVIDERS } from '../../contract/oauth.ts'
import type { Status } from '../../contract/status-api.ts'

/** Public information about the server. A One API server sends fewer members than ours. */
export type KnownStatus = Partial<Status>

type Ours = Status['gatehouse']
type Values = Readonly<Record<string, unknown>>
type Kind = 'text' | 'flag' | 'number' | 'amount'
type Kinds = Readonly<Record<string, Kind>>

const KINDS = {
  version: 'text',
  start_time: 'number',
  email_verification: 'flag',
  github_oauth: 'flag',
  github_client_id: 'text',
  lark_client_id: 'text',
  system_name: 'text',
  logo: 'text',
  footer_html: 'text',
  wechat_qrcode: 'text',
  wechat_login: 'flag',
  server_address: 'text',
  turnstile_check: 'flag',
  turnstile_site_key: 'text',
  top_up_link: 'text',
  chat_link: 'text',
  quota_per_unit: 'amount',
  display_in_currency: 'flag',
  oidc: 'flag',
  oidc_client_id: 'text',
  oidc_well_known: 'text',
  oidc_authorization_endpoint: 'text',
  oidc_token_endpoint: 'text',
  oidc_userinfo_endpoint: 'text',
  linuxdo_oauth: 'flag',
  linuxdo_client_id: 'text',
  discord_oauth: 'flag',
  discord_client_id: 'text',
} satisfies Record<Exclude<keyof Status, 'gatehouse'>, Kind>

const OUR_KINDS = {
  options_min_role: 'number',
  theme: 'text',
  turnstile_url: 'text',
} satisfies Record<
  Exclude<keyof Ours, 'features' | 'registration' | 'manual' | 'sign_in_providers'>,
  Kind
>

const IS_KIND: Record<Kind, (value: unknown) => boolean> = {
  text: (value) => typeof value === 'string',
  flag: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  // Used as a divisor: zero would give infinite amounts, a negative value negative ones.
  amount: (value) => typeof value === 'number' && value > 0,
}

function membersOfKind(kinds: Kinds, values: Values): Values {
  const sound = Object.entries(kinds).filter(([name, kind]) => IS_KIND[kind](values[name]))
  return Object.fromEntries(sound.map(([name]) => [name, values[name]]))
}

/** Absent from older servers. */
const REGISTRATIONS = ['open', 'external', 'closed'] as const

function isRecord(value: unknown): value is Values {
  return typeof value === 'object' && value !== null
}

type ListedProviders = NonNullable<Ours['sign_in_providers']>

/** Keeps the entries of which every member is a text; an older server sends no list. */
function listedProviders(value: unknown): { sign_in_providers?: ListedProviders } {
  if (!Array.isArray(value)) return {}
  const sound = value.filter((entry): entry is ListedProviders[number] => {
    if (!isRecord(entry)) return false
    const texts = [entry['provider'], entry['title'], entry['icon'], entry['color']]
    return texts.every((text) => typeof text === 'string') && isListed(String(entry['provider']))
  })
  return { sign_in_providers: sound }
}

const isListed = (provider: string): boolean =>
  PRESET_PROVIDERS.some((preset) => preset === provider) || provider.startsWith('oidc/')

/** Null if the stored value is not a status of our server. */
function ourStatus(value: unknown): Ours | null {
  if (!isRecord(value)) return null
  const { features } = value
  const sound = membersOfKind(OUR_KINDS, value)
  const isWhole = Object.keys(sound).length === Object.keys(OUR_KINDS).length
  if (!isWhole || !Array.isArray(features)) return null
  // Each member has been checked.
  const ours = {
    ...(sound as Omit<Ours, 'features'>),
    features: features.map(String),
    ...(value['manual'] === true ? { manual: true } : {}),
    ...listedProviders(value['sign_in_providers']),
  }
  const registration = REGISTRATIONS.find((known) => known === value['registration'])
  return registration === undefined ? ours : { ...ours, registration }
}

/**
 * Returns the valid members of a stored status. Others are omitted as if the server had not sent
 * them: other consoles and users write under this name.
 */
export function toKnownStatus(stored: Values | null): KnownStatus {
  if (stored === null) return {}
  const gatehouse = ourStatus(stored['gatehouse'])
  // Each member has been checked.
  const known = membersOfKind(KINDS, stored) as KnownStatus
  return gatehouse === null ? known : { ...known, gatehouse }
}
