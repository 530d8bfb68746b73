import type { Limits, LimitStanding } from '../../../contract/limit-api.ts'
import {
  isBudget,
  LIMIT_COUNT_MAX,
  LIMIT_NAMES,
  NO_LIMIT,
  type LimitName,
} from '../../../contract/limit.ts'
import { QUOTA_MAX } from '../../../contract/quota.ts'
import { mark } from '../i18n.ts'

/** Limits as texts of a form; empty for no limit. */
export type LimitForm = Record<LimitName, string>

export const limitLabels: Readonly<Record<LimitName, string>> = {
  requests_per_minute: mark('每分钟请求数'),
  tokens_per_minute: mark('每分钟 token 数'),
  calls_at_once: mark('同时进行的调用'),
  quota_per_day: mark('每天'),
  quota_per_week: mark('每周'),
  quota_per_month: mark('每月'),
}

/** Labels for use outside a heading. */
export const limitNames: Readonly<Record<LimitName, string>> = {
  ...limitLabels,
  quota_per_day: mark('每日预算'),
  quota_per_week: mark('每周预算'),
  quota_per_month: mark('每月预算'),
}

export const rateLimits = LIMIT_NAMES.filter((name) => !isBudget(name))
export const budgets = LIMIT_NAMES.filter(isBudget)

const eachLimit = <T>(value: (name: LimitName) => T): Record<LimitName, T> => ({
  requests_per_minute: value('requests_per_minute'),
  tokens_per_minute: value('tokens_per_minute'),
  calls_at_once: value('calls_at_once'),
  quota_per_day: value('quota_per_day'),
  quota_per_week: value('quota_per_week'),
  quota_per_month: value('quota_per_month'),
})

export const noLimits: LimitForm = eachLimit(() => '')

/** Servers without the limits feature send none. */
export const toLimitForm = (standing: LimitStanding | undefined): LimitForm =>
  eachLimit((name) => {
    const limit = standing?.limits[name] ?? NO_LIMIT
    return limit === NO_LIMIT ? '' : String(limit)
  })

/** Parses a limit; null if invalid. Empty and 0 mean no limit. */
function limitOf(name: LimitName, text: string): number | null {
  const typed = text.trim()
  const max = isBudget(name) ? QUOTA_MAX : LIMIT_COUNT_MAX
  return /^\d*$/.test(typed) && Number(typed) <= max ? Number(typed) : null
}

export const isLimit = (name: LimitName, text: string): boolean => limitOf(name, text) !== null

/** Whether all limits of the form are valid. */
export const areLimits = (form: LimitForm): boolean =>
  LIMIT_NAMES.every((name) => isLimit(name, form[name]))

/** Chinese; translated where displayed. */
export const limitProblem = mark('限制必须是不小于 0 的整数，例如 60，留空则不限制')

/** The form must be valid. */
export const toLimits = (form: LimitForm): Limits =>
  eachLimit((name) => limitOf(name, form[name]) ?? NO_LIMIT)

/** Whether a value has changed, regardless of its spelling. */
export const areLimitsChanged = (before: LimitForm, now: LimitForm): boolean =>
  LIMIT_NAMES.some((name) => limitOf(name, before[name]) !== limitOf(name, now[name]))
