import type { TFunction } from 'i18next'
import type { RouteAttempt, RouteCandidate, RouteState } from '../../../contract/route-api.ts'
import type { Tone } from '../../ui/marks.tsx'
import { mark } from '../i18n.ts'
import { stampText } from '../time.ts'

/** Texts for the choice of channels, in the log and in the channel list. */

interface Words {
  tone: Tone
  words: string
}

const states: Record<RouteState, Words> = {
  asked: { tone: 'good', words: mark('已尝试') },
  open: { tone: 'good', words: mark('可用') },
  lower: { tone: 'off', words: mark('优先级较低，未轮到') },
  circuit: { tone: 'warning', words: mark('近期失败过多，暂缓使用') },
  throttled: { tone: 'warning', words: mark('上游限流') },
  keys: { tone: 'warning', words: mark('没有可用的密钥') },
  price: { tone: 'bad', words: mark('模型没有价格') },
  balance: { tone: 'warning', words: mark('余额不足以支付此渠道') },
  protocol: { tone: 'bad', words: mark('不支持这种调用') },
  disabled: { tone: 'off', words: mark('手动禁用') },
  auto_disabled: { tone: 'bad', words: mark('自动禁用') },
  group: { tone: 'off', words: mark('只服务其他分组') },
}

export const stateTone = ({ state }: Pick<RouteCandidate, 'state'>): Tone => states[state].tone

export function stateText({ state, until }: RouteCandidate, t: TFunction): string {
  const words = t(states[state].words)
  return until > 0 ? t('{{words}}，{{stamp}} 后可用', { words, stamp: stampText(until) }) : words
}

/** `第 1 级 · 优先级 9 · 权重 3` */
export function rankText({ tier, priority, weight }: RouteCandidate, t: TFunction): string {
  const rank = t('优先级 {{priority}} · 权重 {{weight}}', { priority, weight })
  return tier === 0 ? rank : t('第 {{tier}} 级 · {{rank}}', { tier, rank })
}

const results: Record<RouteAttempt['result'], Words> = {
  answered: { tone: 'good', words: mark('已响应') },
  broken: { tone: 'bad', words: mark('响应中断') },
  abandoned: { tone: 'off', words: mark('客户端已离开') },
  network: { tone: 'bad', words: mark('连接失败') },
  timeout: { tone: 'bad', words: mark('未及时响应') },
  status: { tone: 'bad', words: mark('拒绝') },
  answer: { tone: 'bad', words: mark('响应无法解析') },
  ended: { tone: 'off', words: mark('由网关中止') },
}

export const resultTone = ({ result }: RouteAttempt): Tone => results[result].tone

export function resultText({ result, status, code }: RouteAttempt, t: TFunction): string {
  const words = t(results[result].words)
  return result === 'status' ? [words, status, code].filter((word) => word !== '').join(' ') : words
}
