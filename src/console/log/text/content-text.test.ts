import { expect, test } from 'vitest'
import type { Words } from '../../../contract/channel-type-row.ts'
import { errorText } from '../../../contract/errors.ts'
import { formerRows, logReasons, logRows, logText } from '../../../contract/log-sentences.ts'
import { contentText, isPriceText } from './content-text.ts'

const told: readonly (readonly [stored: string, shown: string])[] = [
  ['倍率：0.07 × 0.80 × 4.00', 'Ratio: 0.07 × 0.80 × 4.00'],
  ['价格：$0.04 × 1.00', 'Price: $0.04 × 1.00'],
  [
    '管理员将用户额度从 ＄10.000922 额度修改为 ＄20.000000 额度',
    'An administrator changed the quota from $10.000922 to $20.000000',
  ],
  ['新用户注册赠送 500 点额度', 'Quota for a new user: 500 points'],
  ['通过兑换码充值 ＄1.000000 额度', 'Redeemed a code: $1.000000'],
  [
    '渠道「主力」（#7）已被自动禁用：HTTP 401',
    'Channel “主力” (#7) was disabled automatically: HTTP 401',
  ],
  [
    '渠道「主力」（#7）已被自动启用：恢复响应',
    'Channel “主力” (#7) was enabled automatically: a call succeeded again',
  ],
  [
    '渠道「主力」（#7）已被自动禁用：上游余额不足',
    'Channel “主力” (#7) was disabled automatically: its upstream balance is used up',
  ],
  [
    '渠道「主力」（#7）已被自动禁用：响应用时 6.20 秒，超过最长响应时间',
    'Channel “主力” (#7) was disabled automatically: its response took 6.20 s, longer than the maximum response time',
  ],
  [
    '渠道「主力」（#7）已被自动禁用：上游拒绝了密钥或账户（401 invalid_api_key）：Incorrect API key',
    'Channel “主力” (#7) was disabled automatically: the upstream refused its key or account (401 invalid_api_key): Incorrect API key',
  ],
  [
    '渠道「主力」（#7）的密钥 x9Kq 已自动暂停：被上游拒绝（401 invalid_api_key）',
    'Key x9Kq of channel “主力” (#7) was paused automatically: the upstream refused it (401 invalid_api_key)',
  ],
  ['渠道「主力」（#7）的密钥 x9Kq 恢复使用', 'Key x9Kq of channel “主力” (#7) was resumed'],
  ['渠道「主力」测试成功，回复：四十二', 'Channel “主力” passed its test and replied: 四十二'],
  ['渠道「主力」测试成功，回复：', 'Channel “主力” passed its test and replied: '],
  [
    '渠道「主力」测试失败：上游返回状态码 500',
    'Channel “主力” failed its test: the upstream responded with status 500',
  ],
  [
    '渠道「主力」测试失败：上游未及时响应',
    'Channel “主力” failed its test: the upstream did not respond in time',
  ],
  ['代理：GET', 'Proxied: GET'],
  // Texts of One API and of our earlier versions.
  ['渠道 主力 测试成功，响应：四十二', 'Channel “主力” passed its test and replied: 四十二'],
  [
    '渠道 主力 测试失败，错误：http status code: 401',
    'Channel “主力” failed its test: http status code: 401',
  ],
  [
    '模型倍率 15.00，分组倍率 1.00，补全倍率 2.00',
    'Ratio: model 15.00, group 1.00, completion 2.00',
  ],
  [
    '渠道「主力」（#7）的密钥 x9Kq 已停用：上游拒绝（401 invalid_api_key）',
    'Key x9Kq of channel “主力” (#7) was paused automatically: the upstream refused it (401 invalid_api_key)',
  ],
  [
    '渠道「主力」（#7）已被自动启用：恢复应答',
    'Channel “主力” (#7) was enabled automatically: a call succeeded again',
  ],
  [
    '渠道「主力」测试失败：上游在时限内没有回应',
    'Channel “主力” failed its test: the upstream did not respond in time',
  ],
  [
    '渠道「主力」测试失败：上游的回应无法解析',
    'Channel “主力” failed its test: the upstream response cannot be parsed',
  ],
  ['模型倍率 0.75，分组倍率 1.00', 'Ratio: model 0.75, group 1.00'],
  ['老板送的 500 点额度', '老板送的 500 点额度'],
  ['', ''],
]

test.each(told)('%s', (stored, shown) => {
  expect(contentText(stored, 'en')).toBe(shown)
  expect(contentText(stored, 'zh')).toBe(stored.replaceAll('＄', '$'))
})

test.each(Object.entries({ ...logRows, ...formerRows }))(
  'recognizes the row text %s by its own pattern only',
  (_, words: Words) => {
    const places = [...words.zh.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    const values = Object.fromEntries(places.map((name, index) => [name, `…${index + 1}`]))
    const english = words.en.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? '')
    expect(contentText(logText(words, values), 'en')).toBe(english)
  },
)

test.each(Object.entries(logReasons))('recognizes the reason %s', (_, words: Words) => {
  const channel = { name: '主力', id: 7 }
  const reason = logText(words, { seconds: '6.20', cause: '401', reason: '上游繁忙，请稍后再试' })
  const shown = words.en
    .replace('{seconds}', '6.20')
    .replace('{cause}', '401')
    .replace('{reason}', 'the upstream is busy. Try again later')
  expect(contentText(logText(logRows.channel_disabled, { ...channel, reason }), 'en')).toBe(
    `Channel “主力” (#7) was disabled automatically: ${shown}`,
  )
})

// The reason of a failed test is an error message from any table.
test.each([
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_cut',
  'upstream_status',
  'upstream_answer_invalid',
  'channel_test_unsupported',
  'channel_test_ended',
  'channel_incomplete',
  'channel_retired',
] as const)('a failed test with %s is shown in the reader’s language', (code) => {
  const params = { status: 500, type: 'OpenAI' }
  const content = logText(logRows.test_failed, {
    name: '主力',
    reason: errorText(code, 'zh', params),
  })
  const why = errorText(code, 'en', params)
  expect(contentText(content, 'en')).toBe(
    `Channel “主力” failed its test: ${why.charAt(0).toLowerCase()}${why.slice(1)}`,
  )
  expect(contentText(content, 'zh')).toBe(content)
})

test('omits a text only if it contains nothing but the price', () => {
  expect(isPriceText(logText(logRows.priced_by_ratio, { factors: '1.00 × 1.00' }))).toBe(true)
  expect(isPriceText('模型倍率 1.00，分组倍率 1.00')).toBe(true)
  expect(isPriceText(logText(logRows.proxied, { method: 'GET' }))).toBe(false)
})
