import type { ErrorSpec } from './error-spec.ts'

/**
 * Errors of calls that exceed a limit. `ownerZh` and `ownerEn` name the owner of the limit: the
 * token or the account.
 */
export const limitErrors = {
  limit_requests: {
    status: 429,
    zh: '{ownerZh}每分钟最多请求 {max} 次，请 {seconds} 秒后重试',
    en: 'This {ownerEn} is limited to {max} requests per minute. Try again in {seconds} s',
  },
  limit_tokens: {
    status: 429,
    zh: '{ownerZh}每分钟最多使用 {max} 个 token，本次调用最多还需要 {needed} 个，请 {seconds} 秒后重试',
    en: 'This {ownerEn} is limited to {max} tokens per minute, and this call may need {needed}. Try again in {seconds} s',
  },
  limit_tokens_call: {
    status: 429,
    zh: '本次调用最多可能使用 {needed} 个 token，超过{ownerZh}每分钟 {max} 个的限制，请减小最大输出长度或缩短输入',
    en: 'This call may use {needed} tokens, but this {ownerEn} is limited to {max} per minute. Lower its maximum output or shorten its input',
  },
  limit_calls: {
    status: 429,
    zh: '{ownerZh}最多同时进行 {max} 个调用，请等其中一个结束后重试',
    en: 'This {ownerEn} is limited to {max} concurrent calls. Try again when one of them has ended',
  },
  limit_budget: {
    status: 429,
    zh: '{ownerZh}{periodZh}的预算不足以支付本次调用，将于 {at}（{zone}）重新计算',
    en: 'The budget of this {ownerEn} for {periodEn} does not cover this call. It resets at {at} ({zone})',
  },
  limit_budget_held: {
    status: 429,
    zh: '{ownerZh}{periodZh}的预算正被进行中的调用占用，请等其中一个结束后重试',
    en: 'Calls in progress hold the budget of this {ownerEn} for {periodEn}. Try again when one of them has ended',
  },
  limit_budget_call: {
    status: 429,
    zh: '本次调用最多可能花费的额度超过{ownerZh}{periodZh}的预算，请减小最大输出长度或缩短输入',
    en: 'This call may cost more than the budget of this {ownerEn} for {periodEn}. Lower its maximum output or shorten its input',
  },
} as const satisfies Record<string, ErrorSpec>
