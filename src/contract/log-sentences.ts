import type { Words } from './channel-type-row.ts'

/**
 * Texts that the server writes into log rows. They are stored in Chinese, because One API's clients
 * display them; the console recognizes the text and shows it in the reader's language. To change a
 * text, add the new one and move the old one to `formerRows` or `formerReasons`.
 */
export const logRows = {
  priced_by_ratio: { zh: '倍率：{factors}', en: 'Ratio: {factors}' },
  priced_by_call: { zh: '价格：{factors}', en: 'Price: {factors}' },
  proxied: { zh: '代理：{method}', en: 'Proxied: {method}' },
  quota_set: {
    zh: '管理员将用户额度从 {before}修改为 {after}',
    en: 'An administrator changed the quota from {before} to {after}',
  },
  new_user: { zh: '新用户注册赠送 {amount}', en: 'Quota for a new user: {amount}' },
  invited: { zh: '使用邀请码赠送 {amount}', en: 'Quota for using an invite code: {amount}' },
  inviter: { zh: '邀请用户赠送 {amount}', en: 'Quota for inviting a user: {amount}' },
  redeemed: { zh: '通过兑换码充值 {amount}', en: 'Redeemed a code: {amount}' },
  topped_up: { zh: '通过 API 充值 {amount}', en: 'Topped up through the API: {amount}' },
  channel_disabled: {
    zh: '渠道「{name}」（#{id}）已被自动禁用：{reason}',
    en: 'Channel “{name}” (#{id}) was disabled automatically: {reason}',
  },
  channel_enabled: {
    zh: '渠道「{name}」（#{id}）已被自动启用：{reason}',
    en: 'Channel “{name}” (#{id}) was enabled automatically: {reason}',
  },
  key_paused: {
    zh: '渠道「{name}」（#{id}）的密钥 {tail} 已自动暂停：被上游拒绝（{cause}）',
    en: 'Key {tail} of channel “{name}” (#{id}) was paused automatically: the upstream refused it ({cause})',
  },
  key_resumed: {
    zh: '渠道「{name}」（#{id}）的密钥 {tail} 恢复使用',
    en: 'Key {tail} of channel “{name}” (#{id}) was resumed',
  },
  test_passed: {
    zh: '渠道「{name}」测试成功，回复：{reply}',
    en: 'Channel “{name}” passed its test and replied: {reply}',
  },
  test_failed: {
    zh: '渠道「{name}」测试失败：{reason}',
    en: 'Channel “{name}” failed its test: {reason}',
  },
} as const satisfies Record<string, Words>

/** Values of `{reason}` that are neither an error message nor an upstream's message. */
export const logReasons = {
  answered: { zh: '恢复响应', en: 'a call succeeded again' },
  test_passed: { zh: '测试通过', en: 'it passed a test' },
  test_failed: { zh: '测试失败：{reason}', en: 'the test failed: {reason}' },
  balance_used_up: { zh: '上游余额不足', en: 'its upstream balance is used up' },
  balance_filled: { zh: '上游余额已恢复', en: 'its upstream balance has recovered' },
  too_slow: {
    zh: '响应用时 {seconds} 秒，超过最长响应时间',
    en: 'its response took {seconds} s, longer than the maximum response time',
  },
  account_refused: {
    zh: '上游拒绝了密钥或账户（{cause}）：{reason}',
    en: 'the upstream refused its key or account ({cause}): {reason}',
  },
} as const satisfies Record<string, Words>

/** How amounts are written in these texts. */
export const logAmounts = {
  dollars: { zh: '＄{dollars} 额度', en: '${dollars}' },
  points: { zh: '{points} 点额度', en: '{points} points' },
} as const satisfies Record<string, Words>

/**
 * Former texts of our own, and One API's. Sources of the latter: One API up to 0.6.9,
 * `controller/channel-test.go` and, for prices, `relay/controller/helper.go`.
 */
export const formerRows = {
  key_paused: {
    zh: '渠道「{name}」（#{id}）的密钥 {tail} 已停用：上游拒绝（{cause}）',
    en: 'Key {tail} of channel “{name}” (#{id}) was paused automatically: the upstream refused it ({cause})',
  },
  test_passed: {
    zh: '渠道 {name} 测试成功，响应：{reply}',
    en: 'Channel “{name}” passed its test and replied: {reply}',
  },
  test_failed: {
    zh: '渠道 {name} 测试失败，错误：{reason}',
    en: 'Channel “{name}” failed its test: {reason}',
  },
  priced_by_three_ratios: {
    zh: '模型倍率 {model}，分组倍率 {group}，补全倍率 {completion}',
    en: 'Ratio: model {model}, group {group}, completion {completion}',
  },
  priced_by_two_ratios: {
    zh: '模型倍率 {model}，分组倍率 {group}',
    en: 'Ratio: model {model}, group {group}',
  },
} as const satisfies Record<string, Words>

/** Former texts of reasons. Our first versions wrote some of them in both languages together. */
export const formerReasons: readonly Words[] = [
  { zh: '恢复应答', en: 'a call succeeded again' },
  { zh: '上游在时限内没有回应', en: 'the upstream did not respond in time' },
  { zh: '上游的回应无法解析', en: 'the upstream response cannot be parsed' },
  { zh: '上游中断了回应', en: 'the upstream ended its response early' },
  {
    zh: '测试被中止，或上游的回应过大',
    en: 'the test was stopped, or the upstream response is too large',
  },
  bilingual('无法连接上游', 'the upstream cannot be reached'),
  bilingual('上游没有及时回应', 'the upstream did not answer in time'),
  bilingual('上游中断了回应', 'the upstream broke off its answer'),
  bilingual('测试被中止，或上游的回应过大', 'the test was ended, or the answer is too large'),
  bilingual('测试被中止', 'the test was ended'),
]

function bilingual(zh: string, en: string): Words {
  return { zh: `${zh} / ${en}`, en }
}

type PlacesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlacesIn<Rest>
  : never

/** Fills a text of these tables in the form in which it is stored. */
export function logText<Zh extends string>(
  { zh }: { zh: Zh },
  places: Readonly<Record<PlacesIn<Zh>, string | number>>,
): string {
  const values: Readonly<Record<string, string | number>> = places
  return zh.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}
