import { expect, test } from 'vitest'
import {
  generalGroup,
  logGroup,
  monitorGroup,
  quotaGroup,
  ratioGroup,
} from '../operation/operation-groups.ts'
import { priceGroup } from '../operation/price-group.ts'
import { optionName } from '../../app/label/option-name.ts'
import { otherGroups } from '../other/other-groups.ts'
import { systemGroups } from '../system/system-groups.ts'

const groups = [
  generalGroup,
  logGroup,
  monitorGroup,
  quotaGroup,
  ratioGroup,
  ...systemGroups,
  ...otherGroups,
]

test.each([
  [
    'general',
    [
      ['充值链接', 'TopUpLink', 'address'],
      ['聊天链接', 'ChatLink', 'address'],
      ['单位美元额度', 'QuotaPerUnit', 'number'],
      ['失败重试次数', 'RetryTimes', 'number'],
      ['拒绝上游不支持的参数', 'StrictParameters', 'toggle'],
      ['去掉模型无法使用的内置工具', 'DropHostedTools', 'text'],
      ['错误提示的默认语言', 'DefaultLanguage', 'choice'],
      ['以货币形式显示额度', 'DisplayInCurrencyEnabled', 'toggle'],
      ['接口返回令牌额度', 'DisplayTokenStatEnabled', 'toggle'],
      ['用近似的方式估算 token 数', 'ApproximateTokenEnabled', 'toggle'],
    ],
  ],
  [
    'log',
    [
      ['记录消费日志', 'LogConsumeEnabled', 'toggle'],
      ['日志保留天数', 'LogRetentionDays', 'number'],
      ['请求与响应保留天数', 'LogBodyRetentionDays', 'number'],
      ['请求与响应记录上限', 'LogBodyKilobytesMax', 'number'],
    ],
  ],
  [
    'monitor',
    [
      ['最长响应时间', 'ChannelDisableThreshold', 'number'],
      ['额度提醒阈值', 'QuotaRemindThreshold', 'number'],
      ['失败时自动禁用渠道', 'AutomaticDisableChannelEnabled', 'toggle'],
      ['成功时自动启用渠道', 'AutomaticEnableChannelEnabled', 'toggle'],
    ],
  ],
  [
    'quota',
    [
      ['新用户初始额度', 'QuotaForNewUser', 'number'],
      ['按回复上限预扣', 'ReserveFullAnswer', 'toggle'],
      ['并发调用的最小回复', 'ReserveMinimumTokens', 'number'],
      ['请求预扣费额度', 'PreConsumedQuota', 'number'],
      ['预算时区', 'LimitTimeZone', 'text'],
      ['邀请新用户奖励额度', 'QuotaForInviter', 'number'],
      ['使用邀请码奖励额度', 'QuotaForInvitee', 'number'],
    ],
  ],
  [
    'ratio',
    [
      ['其他模型的倍率', 'DefaultModelRatio', 'text'],
      ['模型倍率', 'ModelRatio', 'ratios'],
      ['补全倍率', 'CompletionRatio', 'ratios'],
      ['分组倍率', 'GroupRatio', 'ratios'],
      ['令牌可选的分组', 'UserUsableGroups', 'long'],
      ['缓存倍率', 'CacheRatio', 'ratios'],
    ],
  ],
  ['server', [['服务器地址', 'ServerAddress', 'address']]],
  [
    'sign-in',
    [
      ['允许通过密码登录', 'PasswordLoginEnabled', 'toggle'],
      ['允许通过密码注册', 'PasswordRegisterEnabled', 'toggle'],
      ['通过密码注册时需要验证邮箱', 'EmailVerificationEnabled', 'toggle'],
      ['允许通过 GitHub 登录和注册', 'GitHubOAuthEnabled', 'toggle'],
      ['允许通过微信登录和注册', 'WeChatAuthEnabled', 'toggle'],
      ['允许通过 OIDC 登录和注册', 'OidcEnabled', 'toggle'],
      ['允许新用户注册', 'RegisterEnabled', 'toggle'],
      ['启用 Turnstile 人机验证', 'TurnstileCheckEnabled', 'toggle'],
      ['空闲多久后退出登录', 'SessionIdleMinutes', 'number'],
    ],
  ],
  [
    'email-domain',
    [
      ['启用邮箱域名白名单', 'EmailDomainRestrictionEnabled', 'toggle'],
      ['允许的邮箱域名', 'EmailDomainWhitelist', 'domains'],
    ],
  ],
  [
    'smtp',
    [
      ['SMTP 服务器', 'SMTPServer', 'text'],
      ['SMTP 端口', 'SMTPPort', 'number'],
      ['SMTP 账户', 'SMTPAccount', 'text'],
      ['发件人邮箱', 'SMTPFrom', 'text'],
      ['SMTP 密码或授权码', 'SMTPToken', 'secret'],
    ],
  ],
  [
    'github',
    [
      ['Client ID', 'GitHubClientId', 'text'],
      ['Client Secret', 'GitHubClientSecret', 'secret'],
    ],
  ],
  [
    'lark',
    [
      ['App ID', 'LarkClientId', 'text'],
      ['App Secret', 'LarkClientSecret', 'secret'],
    ],
  ],
  [
    'wechat',
    [
      ['微信服务器地址', 'WeChatServerAddress', 'address'],
      ['微信服务器访问凭证', 'WeChatServerToken', 'secret'],
      ['公众号二维码图片链接', 'WeChatAccountQRCodeImageURL', 'text'],
    ],
  ],
  [
    'oidc',
    [
      ['Client ID', 'OidcClientId', 'text'],
      ['Client Secret', 'OidcClientSecret', 'secret'],
      ['发现地址', 'OidcWellKnown', 'address'],
      ['授权地址', 'OidcAuthorizationEndpoint', 'address'],
      ['令牌地址', 'OidcTokenEndpoint', 'address'],
      ['用户信息地址', 'OidcUserinfoEndpoint', 'address'],
    ],
  ],
  [
    'pusher',
    [
      ['消息推送地址', 'MessagePusherAddress', 'address'],
      ['消息推送访问凭证', 'MessagePusherToken', 'secret'],
    ],
  ],
  [
    'turnstile',
    [
      ['Site Key', 'TurnstileSiteKey', 'text'],
      ['Secret Key', 'TurnstileSecretKey', 'secret'],
    ],
  ],
  ['notice', [['公告内容', 'Notice', 'long']]],
  [
    'look',
    [
      ['系统名称', 'SystemName', 'text'],
      ['主题', 'Theme', 'choice'],
      ['Logo 图片地址', 'Logo', 'text'],
    ],
  ],
  ['home', [['首页内容', 'HomePageContent', 'long']]],
  ['about', [['关于页内容', 'About', 'long']]],
  ['footer', [['页脚 HTML', 'Footer', 'long']]],
])('each field of %s is its own option', (id, fields) => {
  const [group, ...others] = groups.filter((one) => one.id === id)
  expect(others).toEqual([])
  expect(group?.fields.map(({ label, key, kind }) => [label, key, kind])).toEqual(fields)
})

test('every option is known elsewhere by its label, behind the service it is for', () => {
  const fields = [...groups, priceGroup].flatMap((group) => group.fields)
  const wrong = fields.filter(({ key, label }) => {
    const name = optionName(key) ?? ''
    return name !== label && !name.endsWith(` ${label}`)
  })
  expect(wrong.map(({ key }) => key)).toEqual([])
  const names = fields.map(({ key }) => optionName(key))
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('no option stands in two groups', () => {
  const keys = groups.flatMap(({ fields }) => fields.map(({ key }) => key))
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
})

test('a switch asks for options that have a field', () => {
  const fields = groups.flatMap((group) => group.fields)
  const needed = fields.flatMap((field) =>
    field.kind === 'toggle' ? Object.keys(field.needs ?? {}) : [],
  )
  expect(needed.filter((key) => !fields.some((field) => field.key === key))).toEqual([])
})
