import i18n from 'i18next'
import { beforeAll, expect, test } from 'vitest'
import english from '../../app/en.json' with { type: 'json' }
import { contentText } from './content-text.ts'

const told: readonly (readonly [stored: string, shown: string])[] = [
  ['倍率：0.07 × 0.80 × 4.00', 'Ratio: 0.07 × 0.80 × 4.00'],
  ['价格：$0.04 × 1.00', 'Price: $0.04 × 1.00'],
  [
    '管理员将用户额度从 ＄10.000922 额度修改为 ＄20.000000 额度',
    'An admin changed the quota from $10.000922 to $20.000000',
  ],
  ['新用户注册赠送 500 点额度', 'Given to a new user: 500 points'],
  ['通过兑换码充值 ＄1.000000 额度', 'Redeemed a code: $1.000000'],
  [
    '渠道「主力」（#7）已被自动禁用：HTTP 401',
    'Channel “主力” (#7) was disabled automatically: HTTP 401',
  ],
  [
    '渠道「主力」（#7）已被自动启用：恢复应答',
    'Channel “主力” (#7) was enabled automatically: it answered a call again',
  ],
  [
    '渠道「主力」（#7）已被自动禁用：上游余额不足',
    'Channel “主力” (#7) was disabled automatically: its balance is used up',
  ],
  [
    '渠道「主力」（#7）已被自动禁用：响应用时 6.20 秒，超过最长响应时间',
    'Channel “主力” (#7) was disabled automatically: it took 6.20 s, longer than the maximum response time',
  ],
  [
    '渠道「主力」（#7）已被自动禁用：上游拒绝了密钥或账户（401 invalid_api_key）：Incorrect API key',
    'Channel “主力” (#7) was disabled automatically: the upstream refused its key or account (401 invalid_api_key): Incorrect API key',
  ],
  [
    '渠道「主力」（#7）的密钥 x9Kq 已停用：上游拒绝（401 invalid_api_key）',
    'Key x9Kq of channel “主力” (#7) is out of use: the upstream refused it (401 invalid_api_key)',
  ],
  ['渠道「主力」（#7）的密钥 x9Kq 恢复使用', 'Key x9Kq of channel “主力” (#7) is in use again'],
  ['渠道「主力」测试成功，回复：四十二', 'Channel “主力” passed its test and replied: 四十二'],
  ['渠道「主力」测试成功，回复：', 'Channel “主力” passed its test and replied: '],
  [
    '渠道「主力」测试失败：上游返回状态码 500',
    'Channel “主力” failed its test: the upstream answered with status 500',
  ],
  [
    '渠道「主力」测试失败：上游在时限内没有回应',
    'Channel “主力” failed its test: the upstream did not answer in time',
  ],
  ['代理：GET', 'Proxied: GET'],
  ['老板送的 500 点额度', '老板送的 500 点额度'],
  ['', ''],
]

const inEnglish = i18n.createInstance()
const inChinese = i18n.createInstance()

beforeAll(async () => {
  const options = {
    fallbackLng: false as const,
    keySeparator: false as const,
    nsSeparator: false as const,
    interpolation: { escapeValue: false },
  }
  await inEnglish.init({ ...options, lng: 'en', resources: { en: { translation: english } } })
  await inChinese.init({ ...options, lng: 'zh' })
})

test.each(told)('%s', (stored, shown) => {
  expect(contentText(stored, inEnglish.t)).toBe(shown)
  expect(contentText(stored, inChinese.t)).toBe(stored.replaceAll('＄', '$'))
})
