import ipaddr from 'ipaddr.js'
import type { CaptureMode } from '../../contract/log.ts'
import { commaList } from '../../contract/text.ts'
import type { Token, TokenInput } from '../../contract/token-api.ts'
import { DEFAULT_TOKEN_QUOTA, NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'
import type { FormError } from '../app/form/form-errors.ts'
import { mergeEdits } from '../app/form/merge-edits.ts'
import { pointsOf } from '../app/form/points.ts'
import { mark } from '../app/i18n.ts'
import {
  areLimits,
  limitProblem,
  noLimits,
  toLimitForm,
  toLimits,
  type LimitForm,
} from '../app/limit/limit-form.ts'
import { parseStamp, stampText } from '../app/time.ts'

/** Form values: texts as entered. */
export interface TokenForm {
  name: string
  /** A timestamp; empty or `-1` for never. */
  expiry: string
  /** In points. */
  quota: string
  isUnlimited: boolean
  models: string[]
  /** Comma list of CIDR blocks. */
  subnet: string
  /** How much of its calls is captured. Servers without capture omit the member. */
  capture: CaptureMode
  limits: LimitForm
  /** Empty for the groups of the account. */
  group: string
}

/** In ascending order of what they store. */
export const captureChoices: readonly { mode: CaptureMode; label: string; hint: string }[] = [
  { mode: 'off', label: mark('不记录'), hint: '' },
  {
    mode: 'metadata',
    label: mark('仅参数与长度'),
    hint: mark('记录模型、参数和长度，不记录任何文字'),
  },
  {
    mode: 'redacted',
    label: mark('隐去密钥后的全文'),
    hint: mark('记录全文，形似密钥、口令的内容会被隐去；您和管理员可以查看'),
  },
  {
    mode: 'full',
    label: mark('全文'),
    hint: mark('原样记录请求与响应的全文；您和管理员可以查看'),
  },
]

/** `seconds` is null for never. */
export const expiryShortcuts = [
  { label: mark('永不过期'), seconds: null },
  { label: mark('一个月'), seconds: 30 * 24 * 3600 },
  { label: mark('一天'), seconds: 24 * 3600 },
  { label: mark('一小时'), seconds: 3600 },
  { label: mark('一分钟'), seconds: 60 },
]

export const newTokenForm: TokenForm = {
  name: '',
  expiry: '',
  quota: String(DEFAULT_TOKEN_QUOTA),
  isUnlimited: false,
  models: [],
  subnet: '',
  capture: 'off',
  limits: noLimits,
  group: '',
}

/** Both commas: users type the one of their keyboard. */
const COMMAS = /[,，]/

export function toForm(token: Token): TokenForm {
  return {
    name: token.name,
    expiry: token.expired_time === NEVER_EXPIRES ? '' : stampText(token.expired_time),
    // Servers of the One API family store -1 for an unlimited token.
    quota: token.unlimited_quota && token.remain_quota < 0 ? '' : String(token.remain_quota),
    isUnlimited: token.unlimited_quota,
    models: commaList(token.models),
    subnet: token.subnet ?? '',
    capture: token.capture ?? 'off',
    limits: toLimitForm(token.limits),
    group: token.group ?? '',
  }
}

function expirySeconds(expiry: string): number | null {
  const text = expiry.trim()
  if (text === '' || text === String(NEVER_EXPIRES)) return NEVER_EXPIRES
  const seconds = parseStamp(text)
  // Rejects times before 1970, and 0, which means never for a new token.
  return seconds !== null && seconds > 0 ? seconds : null
}

/** The form must be valid. `before`: the edited token, null for a new one. */
export function toInput(form: TokenForm, before: Token | null): Required<TokenInput> {
  return {
    name: form.name.trim(),
    expired_time: expirySeconds(form.expiry) ?? NEVER_EXPIRES,
    // An overdrawn or unlimited token keeps its quota.
    remain_quota: pointsOf(form.quota) ?? before?.remain_quota ?? 0,
    unlimited_quota: form.isUnlimited,
    models: form.models.join(','),
    subnet: commaList(form.subnet, COMMAS).join(','),
    capture: form.capture,
    limits: toLimits(form.limits),
    group: form.group,
  }
}

/**
 * Returns the body of an edit. The form must be valid. Contains all members, since missing ones are
 * cleared. `seen` holds the initial values, `stored` the current ones. Sends the previously
 * displayed quota, so that what the token spends meanwhile is counted.
 */
export function toUpdate(form: TokenForm, seen: Token, stored: Token) {
  const before = toForm(seen)
  const quota = form.quota === before.quota ? null : pointsOf(form.quota)
  return {
    ...toInput(mergeEdits(form, before, toForm(stored)), stored),
    id: seen.id,
    remain_quota: quota ?? stored.remain_quota,
    remain_quota_was: quota === null ? stored.remain_quota : seen.remain_quota,
  }
}

/** An expiry in the past is a mistake for a new token; a stored one may stay. */
function expiryProblem(expiry: string, before: Token | null, nowSeconds: number): string | null {
  const seconds = expirySeconds(expiry)
  if (seconds === null) return mark('过期时间格式错误，例如 2030-01-31 12:00:00')
  if (seconds === NEVER_EXPIRES || seconds > nowSeconds) return null
  const isStored = before !== null && expiry === toForm(before).expiry
  return isStored ? null : mark('过期时间已经过去')
}

/** Errors that prevent submission, by field. */
export function formErrors(
  form: TokenForm,
  before: Token | null,
  nowSeconds: number,
): Map<keyof TokenForm, FormError> {
  const errors = new Map<keyof TokenForm, FormError>()
  if (before === null && form.name.trim() === '')
    errors.set('name', { text: mark('请输入令牌名称') })
  const ofExpiry = expiryProblem(form.expiry, before, nowSeconds)
  if (ofExpiry !== null) errors.set('expiry', { text: ofExpiry })
  const isUntouched = before !== null && form.quota === String(before.remain_quota)
  if (!form.isUnlimited && !isUntouched && pointsOf(form.quota) === null) {
    errors.set('quota', { text: mark('额度必须是 0 到 1125899906842624 的整数，例如 500000') })
  }
  const bad = commaList(form.subnet, COMMAS).find((block) => !ipaddr.isValidCIDR(block))
  if (bad !== undefined) {
    errors.set('subnet', {
      text: mark('「{{subnet}}」不是有效的网段，例如 192.168.0.0/24'),
      values: { subnet: bad },
    })
  }
  if (!areLimits(form.limits)) errors.set('limits', { text: limitProblem })
  return errors
}

/**
 * Whether an edit removed the cause for which a token was stopped. A full update does not change
 * the stored status, so the form must set `enabled` itself.
 */
export function shouldReenable(before: Token, after: Token, nowSeconds: number): boolean {
  const wasStopped =
    before.status === TokenStatus.expired || before.status === TokenStatus.exhausted
  const hasTime = after.expired_time === NEVER_EXPIRES || after.expired_time > nowSeconds
  const hasQuota = after.unlimited_quota || after.remain_quota > 0
  return wasStopped && hasTime && hasQuota
}
