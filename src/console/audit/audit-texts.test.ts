import type { TFunction } from 'i18next'
import { expect, test } from 'vitest'
import type { AuditEntry } from '../../contract/audit-api.ts'
import { fieldTitles } from '../../contract/field-title.ts'
import english from '../app/en.json' with { type: 'json' }
import { actionName, memberChanges, memberName, summary } from './audit-texts.ts'

// Chinese texts are their own keys.
const t = ((text: string) => text) as TFunction // only called with a text here

const entry = (change: Pick<AuditEntry, 'before' | 'after'>): AuditEntry => ({
  id: 1,
  created_at: 1,
  actor_id: 1,
  actor_name: 'root',
  address: '127.0.0.1',
  request_id: 'r',
  action: 'user.update',
  target_id: 2,
  prev_hash: null,
  hash: null,
  target_name: 'alice',
  ...change,
})

test('lists a change member by member', () => {
  const change = entry({
    before: { quota: 5, email: '', ModelRatio: { o3: 1 } },
    after: { quota: 6, email: 'a@b.c', ModelRatio: { o3: 2 } },
  })
  expect(memberChanges(change, t)).toEqual([
    { member: 'quota', before: '5', after: '6' },
    { member: 'email', before: '（空）', after: 'a@b.c' },
    { member: 'ModelRatio', before: '{"o3":1}', after: '{"o3":2}' },
  ])
  expect(summary(change, t)).toBe('额度 5 → 6 · 邮箱 （空） → a@b.c · 模型倍率 {"o3":1} → {"o3":2}')
})

test('names an option as the settings page does, or by its own name without a field there', () => {
  const change = entry({
    before: { OidcClientId: 'a', SomethingNew: '1' },
    after: { OidcClientId: 'b', SomethingNew: '2' },
  })
  expect(summary(change, t)).toBe('OIDC Client ID a → b · SomethingNew 1 → 2')
})

test('created and deleted members have one side', () => {
  expect(memberChanges(entry({ before: null, after: { name: 'a' } }), t)).toEqual([
    { member: 'name', after: 'a' },
  ])
  expect(summary(entry({ before: { name: 'a', quota: 0 }, after: null }), t)).toBe(
    '名称 a · 额度 0',
  )
})

test('names switches, choices, scopes and times as the pages do', () => {
  const change = (action: AuditEntry['action'], sides: Pick<AuditEntry, 'before' | 'after'>) =>
    summary({ ...entry(sides), action }, t)
  expect(
    change('option.update', {
      before: { TokensShownOnce: 'false', SecondFactorRequired: 'nobody', Notice: 'true' },
      after: { TokensShownOnce: 'true', SecondFactorRequired: 'administrators', Notice: '' },
    }),
  ).toBe(
    '令牌密钥只显示一次 已关闭 → 已打开 · 要求两步验证 不要求 → 管理员 · 公告内容 true → （空）',
  )
  const created = { name: 'ci', scopes: ['read', 'logs', 'later'], expires_at: 0 }
  expect(change('access_token.create', { before: null, after: created })).toBe(
    '名称 ci · 权限范围 只读（不含密钥和兑换码）, 日志和统计, later · 过期时间 永不过期',
  )
})

test('a refused call is not repeated beside its target', () => {
  const refused = entry({ before: null, after: { code: 'role_too_low', path: 'GET /api/audit/' } })
  const call = { action: 'call.refuse', target_name: 'GET /api/audit/' } as const
  expect(summary({ ...refused, ...call }, t)).toBe('错误码 role_too_low')
})

test('names enumerated numbers as the lists do', () => {
  const change = (action: AuditEntry['action'], after: AuditEntry['after']) =>
    summary({ ...entry({ before: null, after }), action }, t)
  expect(change('user.promote', { role: 10, status: 1, quota: 1_000_000 })).toBe(
    '角色 管理员 · 状态 已激活 · 额度 1,000,000',
  )
  expect(change('channel.create', { type: 1, status: 2, priority: 1 })).toBe(
    '类型 OpenAI · 状态 手动禁用 · 优先级 1',
  )
  expect(change('redemption.update', { status: 3, quota: 5 })).toBe('状态 已使用 · 额度 5')
})

test('lists the number and the codes of a creation', () => {
  const after = { name: 'gift', quota: 100, count: 3, ids: [62, 63, 64] }
  const change: AuditEntry = { ...entry({ before: null, after }), action: 'redemption.create' }
  expect(summary(change, t)).toBe('名称 gift · 额度 100 · 数量 3 · 兑换码 ID 62, 63, 64')
})

test('shows an unknown action by its name', () => {
  expect(actionName('user.delete')).toBe('删除用户')
  expect(actionName('robot.boil')).toBe('robot.boil')
})

test.each(Object.entries(fieldTitles))(
  'errors name the member %s as the console does, in both languages',
  (member, { zh, en }) => {
    const texts: Readonly<Record<string, string>> = english
    expect([zh, member]).toContain(memberName(member, t))
    expect(texts[zh]).toBe(en)
  },
)
