import type { AuditEntry } from '../../contract/audit-api.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../../contract/audit.ts'
import { mark } from '../app/i18n.ts'

const actionNames: Record<AuditAction, string> = {
  'user.create': mark('添加用户'),
  'user.update': mark('编辑用户'),
  'user.promote': mark('提升用户'),
  'user.demote': mark('降级用户'),
  'user.disable': mark('禁用用户'),
  'user.enable': mark('启用用户'),
  'user.delete': mark('删除用户'),
  'user.top_up': mark('为用户充值'),
  'token.limit': mark('修改令牌限制'),
  'redemption.create': mark('添加兑换码'),
  'redemption.update': mark('编辑兑换码'),
  'redemption.delete': mark('删除兑换码'),
  'channel.create': mark('添加渠道'),
  'channel.update': mark('编辑渠道'),
  'channel.delete': mark('删除渠道'),
  'option.update': mark('修改设置'),
  'log.delete': mark('删除日志'),
  'log.export': mark('导出日志'),
  'log.read_body': mark('查看请求与响应'),
}

/** Kinds of target, for the filter. */
export const nouns: readonly { noun: string; name: string }[] = [
  { noun: 'user', name: mark('用户') },
  { noun: 'redemption', name: mark('兑换码') },
  { noun: 'channel', name: mark('渠道') },
  { noun: 'option', name: mark('设置') },
  { noun: 'log', name: mark('日志') },
]

/** Chinese, translated where shown; an action of a newer server is its own name. */
export function actionName(action: string): string {
  const known = AUDIT_ACTIONS.find((name) => name === action)
  return known === undefined ? action : actionNames[known]
}

export interface MemberChange {
  member: string
  /** Absent: there was none, or is none any more. */
  before?: string
  after?: string
}

const text = (value: unknown): string => {
  if (typeof value === 'string') return value === '' ? '""' : value
  return JSON.stringify(value)
}

/** What changed, member by member, in the order that the entry has. */
export function memberChanges({ before, after }: AuditEntry): MemberChange[] {
  const members = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...members].map((member) => ({
    member,
    ...(before !== null && Object.hasOwn(before, member) ? { before: text(before[member]) } : {}),
    ...(after !== null && Object.hasOwn(after, member) ? { after: text(after[member]) } : {}),
  }))
}

/** The changes in one line. */
export const summary = (entry: AuditEntry): string =>
  memberChanges(entry)
    .map(({ member, before, after }) =>
      before !== undefined && after !== undefined
        ? `${member} ${before} → ${after}`
        : `${member} ${before ?? after}`,
    )
    .join(' · ')
