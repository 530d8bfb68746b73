import type { Generated } from 'kysely'

/** Tables for kysely. Numbers are integers unless noted; booleans are converted per engine. */

export interface UserRow {
  id: number
  username: string
  password: string
  display_name: string | null
  role: number
  status: number
  email: string | null
  github_id: string | null
  wechat_id: string | null
  lark_id: string | null
  oidc_id: string | null
  access_token: string | null
  quota: number
  used_quota: number
  request_count: number
  group: string
  aff_code: string | null
  inviter_id: number | null
  /** Whether the user has a row in `limits`. */
  limited: Generated<boolean | null>
}

export interface TokenRow {
  id: number
  user_id: number
  key: string
  status: number
  name: string | null
  created_time: number
  accessed_time: number
  expired_time: number
  remain_quota: number
  unlimited_quota: boolean
  used_quota: number
  models: string | null
  subnet: string | null
  /** Whether the token has a row in `limits`. */
  limited: Generated<boolean | null>
  /** Masked key, if `key` is a hash. */
  gh_key_hint: Generated<string | null>
  /** Key before the last rotation, as it was stored. */
  gh_previous_key: Generated<string | null>
  /** Until when it works, in epoch seconds. */
  gh_previous_key_until: Generated<number | null>
  /** Client address of the last settled call. */
  gh_last_ip: Generated<string | null>
  /** `expired_time` about which the owner was reminded. */
  gh_expiry_reminded: Generated<number | null>
}

export interface ChannelRow {
  id: number
  type: number
  key: string
  status: number
  name: string | null
  weight: number | null
  created_time: number | null
  test_time: number | null
  response_time: number | null
  base_url: string | null
  other: string | null
  /** In the provider's currency, with decimals. */
  balance: number | null
  balance_updated_time: number | null
  models: string | null
  group: string | null
  used_quota: number | null
  model_mapping: string | null
  priority: number | null
  config: string | null
  system_prompt: string | null
  test_model: string | null
}

export interface AbilityRow {
  group: string
  model: string
  channel_id: number
  enabled: boolean
  priority: number | null
}

export interface RedemptionRow {
  id: number
  user_id: number
  key: string
  status: number
  name: string | null
  quota: number
  created_time: number
  redeemed_time: number | null
}

export interface LogRow {
  id: number
  user_id: number
  created_at: number
  type: number
  content: string | null
  username: string | null
  token_name: string | null
  model_name: string | null
  quota: number | null
  prompt_tokens: number | null
  completion_tokens: number | null
  channel_id: number | null
  request_id: string | null
  elapsed_time: number | null
  is_stream: boolean | null
  system_prompt_reset: boolean | null
}

export interface LedgerRow {
  id: number
  created_at: number
  kind: string
  user_id: number
  token_id: number
  channel_id: number
  user_amount: number
  token_amount: number
  debt: number
  token_debt: number
  /** Whether the debts are part of the amounts, so that the balances went below zero. */
  carried: boolean
  prompt_tokens: number
  completion_tokens: number
  actor_id: number
  request_id: string | null
  detail: string
}

export interface ReservationRow {
  request_id: string
  user_id: number
  token_id: number
  user_amount: number
  token_amount: number
  created_at: number
  node: string
  checkpoint: string
}

export interface AuditRow {
  id: Generated<number>
  created_at: number
  actor_id: number
  actor_name: string
  address: string
  request_id: string
  action: string
  target_id: number
  target_name: string
  /** As JSON. */
  old_values: string | null
  new_values: string | null
  /** `change` or `refusal`. */
  chain: Generated<string>
  /** Hash of the entry before; null if an earlier version wrote this one. */
  prev_hash: string | null
  hash: string | null
}

export interface MailCodeRow {
  purpose: string
  address: string
  code_hash: string
  user_id: number
  attempts_left: number
  expires_at: number
}

export interface QuotaReminderRow {
  user_id: number
  level: number
  low_at: number
  exhausted_at: number
}

export interface LogBodyRow {
  request_id: string
  created_at: number
  user_id: number
  mode: string
  /** Deflated UTF-8; empty if not stored. */
  request: Uint8Array
  response: Uint8Array
}

export interface FailedCallRow {
  request_id: string
  created_at: number
  user_id: number
  channel_id: number
  model_name: string
  token_name: string
  status: number
  code: string
  message: string
}

interface FailureRow {
  hour: number
  user_id: number
  channel_id: number
  model_name: string
  token_name: string
  failures: number
}

/** Limits of a user or token, and current usage. A maximum of 0 means unlimited. */
export interface LimitRow {
  /** `user` or `token`. */
  subject: string
  id: number
  requests_per_minute: number
  tokens_per_minute: number
  calls_at_once: number
  quota_per_day: number
  quota_per_week: number
  quota_per_month: number
  running: Generated<number>
  held_tokens: Generated<number>
  held_quota: Generated<number>
  day_start: Generated<number>
  day_used: Generated<number>
  week_start: Generated<number>
  week_used: Generated<number>
  month_start: Generated<number>
  month_used: Generated<number>
}

export interface UsageSums {
  requests: number
  quota: number
  prompt_tokens: number
  completion_tokens: number
}

export interface SignInStateRow {
  state_hash: string
  bound_to: string
  provider: string
  intent: string
  code_verifier: string
  nonce: string
  redirect_uri: string
  expires_at: number
}

/** A channel that was disabled automatically, and when a real call may try it again. */
interface ChannelPauseRow {
  channel_id: number
  cause: string
  paused_at: number
  trials: number
  next_trial_at: number
}

/** A paused key of a channel with several keys. */
interface ChannelKeyPauseRow extends ChannelPauseRow {
  key_id: string
  /** HTTP status of the upstream. */
  status: number
}

/** An automatic change of status of which root has not been notified yet. */
interface ChannelNoticeRow {
  /** Random. */
  id: string
  created_at: number
  channel_id: number
  name: string
  status: number
  cause: string
  reason: string
}

/** A recording requested by an operator; ids are 0 for any channel or any token. */
export interface RecordingRow {
  id: string
  channel_id: number
  token_id: number
  calls_left: number
  expires_at: number
}

/**
 * A recorded call. `file` is deflated JSON; it is empty if `reason` states why nothing was
 * recorded.
 */
export interface RecordedCallRow {
  request_id: string
  recording_id: string
  file: Uint8Array
  reason: string
}

export interface Schema {
  users: UserRow
  tokens: TokenRow
  channels: ChannelRow
  abilities: AbilityRow
  redemptions: RedemptionRow
  logs: LogRow
  options: { key: string; value: string | null }
  id_counters: { name: string; next: number }
  sessions: {
    id_hash: string
    user_id: number
    created_at: number
    expires_at: number
    must_change_password: boolean
    /** Seconds; up to a minute behind. */
    used_at: number
    /** Time in seconds at which the user last proved their identity. */
    verified_at: Generated<number>
    user_agent: Generated<string>
    address: Generated<string>
  }
  second_factors: {
    user_id: number
    secret: string
    /** Time in seconds; 0 until the user has entered a first code. */
    enabled_at: number
    last_step: number
    created_at: number
  }
  recovery_codes: { user_id: number; code_hash: string }
  second_factor_challenges: {
    id_hash: string
    user_id: number
    must_change_password: boolean
    expires_at: number
  }
  passkeys: {
    credential_id: string
    user_id: number
    name: string
    public_key: string
    counter: number
    /** JSON list. */
    transports: string
    created_at: number
    used_at: number
  }
  passkey_challenges: {
    id_hash: string
    challenge: string
    purpose: string
    user_id: number
    expires_at: number
  }
  sign_in_devices: { user_id: number; device: string; seen_at: number }
  user_languages: { user_id: number; language: string }
  /** System access tokens of One API's kind: one per user, without name or scopes. */
  access_tokens: {
    user_id: number
    token_hash: string
    created_at: number
    used_at: Generated<number>
    used_address: Generated<string>
  }
  named_access_tokens: {
    token_hash: string
    user_id: number
    name: string
    scopes: string
    created_at: number
    /** Seconds; 0 never. */
    expires_at: number
    /** Seconds; up to a minute behind; 0 if never used. */
    used_at: Generated<number>
    used_address: Generated<string>
  }
  settings: { name: string; value: string }
  mail_codes: MailCodeRow
  human_checks: { id_hash: string; expires_at: number }
  quota_reminders: QuotaReminderRow
  external_identities: {
    provider: string
    subject: string
    user_id: number
    created_at: number
    /** Empty for providers with a column in `users`. */
    label: Generated<string>
  }
  name_keys: { name_key: string; twin: number; user_id: number; username: string }
  sign_in_states: SignInStateRow
  ledger: LedgerRow
  reservations: ReservationRow
  nodes: { name: string; seen_at: number; secrets_keys: string | null }
  /** Only on PostgreSQL: where the WAL was when a user had changed something. */
  last_writes: { user_id: number; position: number }
  usage_hourly: UsageSums & {
    hour: number
    user_id: number
    username: string
    token_name: string
    model_name: string
  }
  channel_usage_hourly: UsageSums & { hour: number; channel_id: number; model_name: string }
  /** Belongs to the sums of channels, and is added to them soon; empty on SQLite. */
  channel_settled: UsageSums & {
    id: Generated<number>
    hour: number
    channel_id: number
    model_name: string
  }
  usage_daily: UsageSums & { day: number; user_id: number; model_name: string }
  audit: AuditRow
  audit_chains: { name: string; anchor: string; head: string }
  token_captures: { token_id: number; mode: string }
  token_groups: { token_id: number; group: string }
  log_bodies: LogBodyRow
  failures_hourly: FailureRow
  failed_calls: FailedCallRow
  response_channels: {
    user_id: number
    response_id: string
    channel_id: number
    key_id: string
    model: string
    total_tokens: number
    expires_at: number
  }
  usage_sums: UsageSums & { subject: string; model_name: string; name: string; start: number }
  channel_pauses: ChannelPauseRow
  channel_key_pauses: ChannelKeyPauseRow
  route_traces: { request_id: string; created_at: number; trace: string }
  channel_notices: ChannelNoticeRow
  recordings: RecordingRow
  recorded_calls: RecordedCallRow
  limits: LimitRow
  limit_seconds: { subject: string; id: number; second: number; requests: number; tokens: number }
  limit_holds: {
    request_id: string
    user_id: number
    token_id: number
    tokens: number
    quota: number
  }
  schema_migrations: { version: number; name: string; applied_at: number }
}

/** Boolean columns of all tables; SQLite stores them as 0 and 1. */
export const BOOLEAN_COLUMNS: ReadonlySet<string> = new Set([
  'unlimited_quota',
  'enabled',
  'is_stream',
  'system_prompt_reset',
  'must_change_password',
  'limited',
  'carried',
])
