import type { TFunction } from 'i18next'
import type { AuditEntry } from '../../contract/audit-api.ts'
import { ACCESS_SCOPES } from '../../contract/access-token.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../../contract/audit.ts'
import { channelType } from '../../contract/channel-types.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { SCOPE_TEXTS } from '../app/access-token/access-scope.ts'
import { localText, mark } from '../app/i18n.ts'
import { choiceTitle, isFlagOption, optionTitle } from '../app/label/option-title.ts'
import { stampText } from '../app/time.ts'

const actionNames: Record<AuditAction, string> = {
  'user.create': mark('添加用户'),
  'user.update': mark('编辑用户'),
  'user.promote': mark('提升用户'),
  'user.demote': mark('降级用户'),
  'user.disable': mark('禁用用户'),
  'user.enable': mark('启用用户'),
  'user.delete': mark('删除用户'),
  'user.top_up': mark('为用户充值'),
  'user.second_factor': mark('更改两步验证'),
  'user.unlink': mark('解除第三方账户'),
  'user.end_sessions': mark('退出用户的全部登录'),
  'access_token.create': mark('新建系统访问令牌'),
  'access_token.revoke': mark('撤销系统访问令牌'),
  'token.limit': mark('修改令牌限制'),
  'redemption.create': mark('添加兑换码'),
  'redemption.update': mark('编辑兑换码'),
  'redemption.delete': mark('删除兑换码'),
  'channel.create': mark('添加渠道'),
  'channel.update': mark('编辑渠道'),
  'channel.delete': mark('删除渠道'),
  'option.update': mark('修改设置'),
  'model.refresh': mark('更新模型数据'),
  'log.delete': mark('删除日志'),
  'log.export': mark('导出日志'),
  'usage.export': mark('导出用量'),
  'audit.export': mark('导出审计'),
  'sign_in.fail': mark('登录失败'),
  'call.refuse': mark('请求被拒绝'),
  'log.read_body': mark('查看请求与响应'),
  'log.search_body': mark('搜索请求与响应'),
}

/** Kinds of target for the filter. */
export const nouns: readonly { noun: string; name: string }[] = [
  { noun: 'user', name: mark('用户') },
  { noun: 'access_token', name: mark('系统访问令牌') },
  { noun: 'token', name: mark('令牌') },
  { noun: 'redemption', name: mark('兑换码') },
  { noun: 'channel', name: mark('渠道') },
  { noun: 'option', name: mark('设置') },
  { noun: 'model', name: mark('模型数据') },
  { noun: 'log', name: mark('日志') },
  { noun: 'audit', name: mark('审计') },
  { noun: 'sign_in', name: mark('失败的登录') },
  { noun: 'call', name: mark('被拒绝的请求') },
]

/** Chinese, translated where displayed; an action of a newer server is shown by its name. */
export function actionName(action: string): string {
  const known = AUDIT_ACTIONS.find((name) => name === action)
  return known === undefined ? action : actionNames[known]
}

/** Labels of wire members, as in the forms. */
const memberNames = new Map<string, string>([
  ['name', mark('名称')],
  ['username', mark('用户名')],
  ['display_name', mark('显示名称')],
  ['password', mark('密码')],
  ['email', mark('邮箱')],
  ['role', mark('角色')],
  ['status', mark('状态')],
  ['group', mark('分组')],
  ['quota', mark('额度')],
  ['second_factor', mark('两步验证')],
  ['passkey', mark('通行密钥')],
  ['provider', mark('登录服务')],
  ['account', mark('第三方账户')],
  ['sessions', mark('登录设备')],
  ['count', mark('数量')],
  ['ids', mark('兑换码 ID')],
  ['limits', mark('限制与预算')],
  ['type', mark('类型')],
  ['key', mark('密钥')],
  ['keys', mark('密钥尾号')],
  ['key_resumed', mark('恢复使用的密钥')],
  ['key_paused', mark('手动暂停的密钥')],
  ['base_url', mark('接口地址')],
  ['models', mark('模型')],
  ['model_mapping', mark('模型重定向')],
  ['system_prompt', mark('系统提示词')],
  ['priority', mark('优先级')],
  ['weight', mark('权重')],
  ['test_model', mark('测试模型')],
  ['balance', mark('余额')],
  ['proxy', mark('网络代理')],
  ['header_override', mark('请求头覆盖')],
  ['param_override', mark('参数覆盖')],
  ['request_id', mark('请求 ID')],
  ['code', mark('错误码')],
  ['path', mark('接口')],
  ['scopes', mark('权限范围')],
  ['expires_at', mark('过期时间')],
])

/** Label of a member as in the forms; its own name without a label. */
export function memberName(member: string, t: TFunction): string {
  const known = memberNames.get(member)
  return known === undefined ? (optionTitle(member) ?? member) : t(known)
}

export interface MemberChange {
  member: string
  /** Undefined if the member was absent before or is absent after. */
  before?: string
  after?: string
}

/** Names of enumerated numbers, as in the lists, by kind of target and member. */
const valueNames = new Map<string, ReadonlyMap<unknown, string>>([
  [
    'user.role',
    new Map([
      [Role.user, mark('普通用户')],
      [Role.admin, mark('管理员')],
      [Role.root, mark('超级管理员')],
    ]),
  ],
  [
    'user.status',
    new Map([
      [UserStatus.enabled, mark('已激活')],
      [UserStatus.disabled, mark('已封禁')],
    ]),
  ],
  [
    'channel.status',
    new Map([
      [ChannelStatus.enabled, mark('已启用')],
      [ChannelStatus.disabled, mark('手动禁用')],
      [ChannelStatus.autoDisabled, mark('自动禁用')],
    ]),
  ],
  [
    'redemption.status',
    new Map([
      [RedemptionStatus.unused, mark('未使用')],
      [RedemptionStatus.disabled, mark('已禁用')],
      [RedemptionStatus.used, mark('已使用')],
    ]),
  ],
])

/** A switch is off or on; those of options are texts. Null for another value. */
function flagOf(member: string, value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  return isFlagOption(member) ? value === 'true' : null
}

function scopesText(value: unknown, t: TFunction): string {
  if (!Array.isArray(value)) return JSON.stringify(value)
  const names = value.map((item) => {
    const scope = ACCESS_SCOPES.find((one) => one === item)
    return scope === undefined ? String(item) : t(SCOPE_TEXTS[scope])
  })
  return names.join(', ')
}

function valueText(
  { noun, member }: Record<'noun' | 'member', string>,
  value: unknown,
  t: TFunction,
): string {
  const place = `${noun}.${member}`
  const name = valueNames.get(place)?.get(value)
  if (name !== undefined) return t(name)
  const choice = noun === 'option' ? choiceTitle(member, value) : null
  if (choice !== null) return choice
  const flag = flagOf(member, value)
  if (flag !== null) return flag ? t('已打开') : t('已关闭')
  if (typeof value === 'string') return value === '' ? t('（空）') : value
  if (place === 'access_token.scopes') return scopesText(value, t)
  if (place === 'redemption.ids' && Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'number') return JSON.stringify(value)
  if (place === 'access_token.expires_at') return value === 0 ? t('永不过期') : stampText(value)
  if (place === 'channel.type') return localText(channelType(value).label)
  return place.endsWith('.quota') ? value.toLocaleString('en-US') : String(value)
}

/** Changes by member, in the order of the entry. */
export function memberChanges(entry: AuditEntry, t: TFunction): MemberChange[] {
  const before = entry.before ?? {}
  const after = entry.after ?? {}
  const [noun = ''] = entry.action.split('.')
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].map((member) => {
    const said = (value: unknown): string => valueText({ noun, member }, value, t)
    return {
      member,
      ...(Object.hasOwn(before, member) ? { before: said(before[member]) } : {}),
      ...(Object.hasOwn(after, member) ? { after: said(after[member]) } : {}),
    }
  })
}

/** The changes in one line. */
export const summary = (entry: AuditEntry, t: TFunction): string =>
  memberChanges(entry, t)
    // A refused call is itself the target.
    .filter(({ after }) => entry.action !== 'call.refuse' || after !== entry.target_name)
    .map(({ member, before, after }) => {
      const name = memberName(member, t)
      return before !== undefined && after !== undefined
        ? `${name} ${before} → ${after}`
        : `${name} ${before ?? after}`
    })
    .join(' · ')
