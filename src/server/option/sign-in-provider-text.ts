import type { Words } from '../../contract/channel-type-row.ts'
import { isPreset } from '../../contract/oauth.ts'
import {
  emptyProvider,
  PROVIDER_COLORS,
  type ProviderRule,
  type SignInProvider,
  type SignInProviders,
} from '../../contract/option/sign-in-providers.ts'
import { isReadable, length } from '../../contract/text.ts'
import { GROUP_NAME_LENGTH_MAX } from '../../contract/user.ts'
import { isWebAddress } from './web-address.ts'

const PROVIDERS_MAX = 20
const RULES_MAX = 50
const TEXT_MAX = 2048
const TITLE_MAX = 20
const ICON_MAX = 2

const NAME = /^[a-z][a-z0-9-]{0,15}$/
const CLAIM = /^[^.\s]+(\.[^.\s]+)*$/

const TEXTS = [
  'title',
  'icon',
  'color',
  'client_id',
  'client_secret',
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'scopes',
] as const satisfies readonly (keyof SignInProvider)[]
const FLAGS = ['enabled', 'allow_admin'] as const satisfies readonly (keyof SignInProvider)[]
const ADDRESSES = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
] as const satisfies readonly (keyof SignInProvider)[]
const RULE_TEXTS = ['claim', 'equals', 'contains', 'group', 'role'] as const

type Members = Readonly<Record<string, unknown>>

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses the option's text; returns an error message if it is invalid. */
export function parseSignInProviders(text: string): SignInProviders | Words {
  const parsed = jsonOf(text)
  if (!isMembers(parsed)) return SHAPE
  const entries = Object.entries(parsed)
  if (entries.length > PROVIDERS_MAX) {
    return {
      zh: `最多 ${PROVIDERS_MAX} 个登录服务`,
      en: `it can have at most ${PROVIDERS_MAX} providers`,
    }
  }
  const providers = new Map<string, SignInProvider>()
  for (const [name, value] of entries) {
    const provider = NAME.test(name) ? providerOf(name, value) : wrongName(name)
    if ('zh' in provider) return provider
    providers.set(name, provider)
  }
  return providers
}

/** Whether the text was rejected. */
export const isProblem = (parsed: SignInProviders | Words): parsed is Words => 'zh' in parsed

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text.trim() === '' ? '{}' : text)
  } catch {
    return null
  }
}

const SHAPE: Words = {
  zh: '需要 JSON 对象，例如 {"corp": {"title": "公司", "issuer": "https://id.example.com", "client_id": "…", "client_secret": "…"}}',
  en: 'it must be a JSON object, such as {"corp": {"title": "Corp", "issuer": "https://id.example.com", "client_id": "…", "client_secret": "…"}}',
}

const wrongName = (name: string): Words => ({
  zh: `名称「${name.slice(0, 50)}」只能用小写字母、数字和连字符，以字母开头，最多 16 个字符`,
  en: `the name “${name.slice(0, 50)}” must begin with a lower-case letter and have at most 16 lower-case letters, digits and hyphens`,
})

/** Labels of members in the form, where they differ from their names. */
const LABELS: ReadonlyMap<string, Words> = new Map([
  ['title', { zh: '显示名称', en: 'Display name' }],
  ['icon', { zh: '图标', en: 'Icon' }],
  ['issuer', { zh: '签发者地址', en: 'Issuer' }],
  ['authorization_endpoint', { zh: '授权地址', en: 'Authorization endpoint' }],
  ['token_endpoint', { zh: '令牌地址', en: 'Token endpoint' }],
  ['userinfo_endpoint', { zh: '用户信息地址', en: 'Userinfo endpoint' }],
])

/** A fault of a member, with its place. */
function fault(name: string, member: string, { zh, en }: Words): Words {
  const label = LABELS.get(member)
  return label === undefined
    ? { zh: `「${name}」的 ${member} ${zh}`, en: `${member} of “${name}” ${en}` }
    : {
        zh: `「${name}」的 ${member}（${label.zh}）${zh}`,
        en: `${member} of “${name}” (${label.en}) ${en}`,
      }
}

function providerOf(name: string, value: unknown): SignInProvider | Words {
  if (!isMembers(value)) {
    return { zh: `「${name}」需要 JSON 对象`, en: `“${name}” must be a JSON object` }
  }
  const whole: Members = { ...emptyProvider, ...value }
  const problem = memberProblem(name, whole)
  if (problem !== null) return problem
  const rules = rulesOf(name, whole['rules'])
  // The types of all members have been checked.
  return 'zh' in rules ? rules : { ...(whole as unknown as SignInProvider), rules }
}

function memberProblem(name: string, whole: Members): Words | null {
  for (const member of Object.keys(whole)) {
    if (!Object.hasOwn(emptyProvider, member)) {
      const shown = member.slice(0, 50)
      return fault(name, shown, { zh: '不是已知的成员', en: 'is not a known member' })
    }
  }
  for (const member of TEXTS) {
    const text = whole[member]
    if (typeof text !== 'string' || !isReadable(text) || length(text) > TEXT_MAX) {
      return fault(name, member, {
        zh: `需要一行文字，最多 ${TEXT_MAX} 个字符`,
        en: `must be one line of at most ${TEXT_MAX} characters`,
      })
    }
  }
  for (const member of FLAGS) {
    if (typeof whole[member] !== 'boolean') {
      return fault(name, member, { zh: '需要 true 或 false', en: 'must be true or false' })
    }
  }
  // The types of all members but the rules have been checked.
  return valueProblem(name, whole as unknown as SignInProvider)
}

function valueProblem(name: string, provider: SignInProvider): Words | null {
  for (const member of ADDRESSES) {
    if (provider[member] !== '' && !isWebAddress(provider[member])) {
      return fault(name, member, {
        zh: '需要以 http:// 或 https:// 开头的地址',
        en: 'must be an address that starts with http:// or https://',
      })
    }
  }
  if (length(provider.title) > TITLE_MAX || (provider.title === '' && !isPreset(name))) {
    return fault(name, 'title', {
      zh: `不能为空，最多 ${TITLE_MAX} 个字符`,
      en: `must have 1 to ${TITLE_MAX} characters`,
    })
  }
  if (length(provider.icon) > ICON_MAX) {
    return fault(name, 'icon', {
      zh: `最多 ${ICON_MAX} 个字符`,
      en: `must have at most ${ICON_MAX} characters`,
    })
  }
  if (!PROVIDER_COLORS.includes(provider.color)) {
    const colors = PROVIDER_COLORS.filter((color) => color !== '')
    return fault(name, 'color', {
      zh: `只能为空或 ${colors.join('、')}`,
      en: `must be empty or one of ${colors.join(', ')}`,
    })
  }
  for (const member of ['client_id', 'client_secret'] as const) {
    if (provider[member] === '') return fault(name, member, MISSING[member])
  }
  const endpoints = [
    provider.authorization_endpoint,
    provider.token_endpoint,
    provider.userinfo_endpoint,
  ]
  if (!isPreset(name) && provider.issuer === '' && endpoints.includes('')) {
    return fault(name, 'issuer', {
      zh: '需要填写；没有发现文档的服务要填写三个端点',
      en: 'is missing; a provider without a discovery document needs all three endpoints',
    })
  }
  return null
}

const MISSING = {
  client_id: { zh: '需要填写', en: 'is missing' },
  client_secret: {
    zh: '需要填写；服务的地址换到其他主机后要重新填写',
    en: 'is missing; it must be entered again after the provider’s address changes to another host',
  },
} as const satisfies Record<string, Words>

function rulesOf(name: string, value: unknown): readonly ProviderRule[] | Words {
  if (!Array.isArray(value) || value.length > RULES_MAX) {
    return fault(name, 'rules', {
      zh: `需要最多 ${RULES_MAX} 条规则的列表`,
      en: `must be a list of at most ${RULES_MAX} rules`,
    })
  }
  const rules: ProviderRule[] = []
  for (const [index, rule] of value.entries()) {
    const problem = ruleProblem(rule)
    if (problem !== null) return fault(name, `rules[${index}]`, problem)
    // Its members have been checked.
    rules.push(rule as ProviderRule)
  }
  return rules
}

function ruleProblem(rule: unknown): Words | null {
  const isTexts =
    isMembers(rule) &&
    Object.entries(rule).every(
      ([member, text]) =>
        RULE_TEXTS.some((known) => known === member) &&
        typeof text === 'string' &&
        isReadable(text) &&
        length(text) <= TEXT_MAX,
    )
  if (!isTexts) {
    return {
      zh: '需要形如 {"claim": "groups", "contains": "ops", "group": "vip"} 的对象',
      en: 'must look like {"claim": "groups", "contains": "ops", "group": "vip"}',
    }
  }
  // Its members have been checked.
  const { claim = '', equals, contains, group, role } = rule as Partial<Record<string, string>>
  if (!CLAIM.test(claim)) {
    return {
      zh: '的 claim 需要声明的名称，例如 groups 或 realm.roles',
      en: 'needs the name of a claim, such as groups or realm.roles, as its claim',
    }
  }
  if ((equals === undefined) === (contains === undefined)) {
    return {
      zh: '需要 equals 和 contains 中的一个',
      en: 'needs either equals or contains',
    }
  }
  if (group === undefined && role === undefined) {
    return { zh: '需要 group 或 role', en: 'needs a group or a role' }
  }
  if (role !== undefined && role !== 'admin') {
    return { zh: '的 role 只能是 admin', en: 'can only have the role admin' }
  }
  const isGroup =
    group === undefined ||
    (group !== '' &&
      group.trim() === group &&
      !/[,，]/.test(group) &&
      length(group) <= GROUP_NAME_LENGTH_MAX)
  return isGroup
    ? null
    : {
        zh: `的 group 需要一个分组名，不含逗号，最多 ${GROUP_NAME_LENGTH_MAX} 个字符`,
        en: `needs one group name without commas, of at most ${GROUP_NAME_LENGTH_MAX} characters`,
      }
}
