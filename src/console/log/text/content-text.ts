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
]

/** How the sentences write points. */
const amounts = [mark('＄{{dollars}} 额度'), mark('{{points}} 点额度')]

const patternOf = (sentence: string): RegExp =>
  new RegExp(`^${sentence.replaceAll(/\{\{(\w+)\}\}/g, '(?<$1>.+)')}$`, 's')

function translated(text: string, known: readonly string[], t: TFunction): string {
  for (const sentence of known) {
    const places = patternOf(sentence).exec(text)?.groups
    if (places === undefined) continue
    const filled: Record<string, string> = {}
    for (const [name, value] of Object.entries(places)) filled[name] = translated(value, amounts, t)
    return t(sentence, filled)
  }
  return text
}

/** What a log row says of itself, in the language that is read; the words of others stay. */
export const contentText = (content: string, t: TFunction): string =>
  translated(content, sentences, t)

/** Whether it says how the call was priced, and no more. */
export const isPriceText = (content: string): boolean => /^(倍率|价格)：/.test(content)
