import type { TFunction } from 'i18next'
import { mark } from '../../app/i18n.ts'

/**
 * Sentences that servers write into log rows. They are stored in Chinese, because One API's clients
 * read them; whoever reads another language gets them translated when they are shown.
 */
const sentences = [
  mark('倍率：{{factors}}'),
  mark('价格：{{factors}}'),
  mark('管理员将用户额度从 {{before}}修改为 {{after}}'),
  mark('新用户注册赠送 {{amount}}'),
  mark('使用邀请码赠送 {{amount}}'),
  mark('邀请用户赠送 {{amount}}'),
  mark('通过兑换码充值 {{amount}}'),
  mark('通过 API 充值 {{amount}}'),
  mark('渠道「{{name}}」（#{{id}}）已被自动禁用：{{reason}}'),
  mark('渠道「{{name}}」（#{{id}}）已被自动启用：{{reason}}'),
  mark('渠道「{{name}}」（#{{id}}）的密钥 {{tail}} 已停用：上游拒绝（{{cause}}）'),
  mark('渠道「{{name}}」（#{{id}}）的密钥 {{tail}} 恢复使用'),
  mark('渠道「{{name}}」测试成功，回复：{{reply}}'),
  mark('渠道「{{name}}」测试失败：{{reason}}'),
  mark('代理：{{method}}'),
]

/** How the sentences write points. */
const amounts = [mark('＄{{dollars}} 额度'), mark('{{points}} 点额度')]

/** What the sentences give as a reason, where it is not an upstream's own words. */
const reasons = [
  mark('恢复应答'),
  mark('测试通过'),
  mark('上游余额不足'),
  mark('响应用时 {{seconds}} 秒，超过最长响应时间'),
  mark('上游拒绝了密钥或账户（{{cause}}）：{{reason}}'),
  mark('测试失败：{{reason}}'),
  mark('上游返回状态码 {{status}}'),
  mark('上游繁忙，请稍后再试'),
  mark('「{{type}}」类型的渠道暂不支持测试'),
  mark('「{{type}}」渠道的密钥、区域、账户或地址不完整，请管理员补全'),
  mark('「{{type}}」的服务已经停止，请管理员改用其他类型的渠道'),
  mark('无法连接上游'),
  mark('上游在时限内没有回应'),
  mark('上游中断了回应'),
  mark('上游的回应无法解析'),
  mark('测试被中止，或上游的回应过大'),
]

const patternOf = (sentence: string): RegExp =>
  new RegExp(`^${sentence.replaceAll(/\{\{(\w+)\}\}/g, '(?<$1>.*)')}$`, 's')

function translated(text: string, known: readonly string[], t: TFunction): string {
  for (const sentence of known) {
    const match = patternOf(sentence).exec(text)
    if (match === null) continue
    const filled: Record<string, string> = {}
    for (const [name, value] of Object.entries(match.groups ?? {})) {
      filled[name] = name === 'reason' ? translated(value, reasons, t) : amountText(value, t)
    }
    return t(sentence, filled)
  }
  return text
}

/** One API writes a dollar sign of Chinese width; what stands beside the row has the usual one. */
const amountText = (text: string, t: TFunction): string =>
  translated(text, amounts, t).replace(/^＄/, '$')

/** What a log row says of itself, in the language that is read; the words of others stay. */
export const contentText = (content: string, t: TFunction): string =>
  translated(content, sentences, t)

/** Whether it says how the call was priced, and no more. */
export const isPriceText = (content: string): boolean => /^(倍率|价格)：/.test(content)
