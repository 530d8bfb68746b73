import { z } from 'zod'
import { trimBaseUrl } from '../../../contract/channel-types.ts'
import { baseUrlOf, beside } from '../../channel/upstream/channel-upstream.ts'
import {
  Amount,
  type ReadBalance,
  bearer,
  fromCreditGrants,
  parseBalance,
} from './shared/balance.ts'
import { openaiVendor } from './openai-vendor.ts'
import { openai } from './openai.ts'
import type { Words } from '../../../contract/channel-type-row.ts'

/** Resellers of OpenAI's models. Their services may have ended. */

const reseller = (name: string): Words => ({ zh: `代理：${name}`, en: `Proxy: ${name}` })

export const api2d = openaiVendor({
  type: 2,
  label: reseller('API2D'),
  color: 'blue',
  baseUrl: 'https://oa.api2d.net',
  legacy: true,
  listPosition: 440,
  responses: true,
  models: openai.models ?? [],
})

export const closeAi = openaiVendor({
  type: 4,
  label: reseller('CloseAI'),
  color: 'teal',
  baseUrl: 'https://api.closeai-proxy.xyz',
  legacy: true,
  listPosition: 480,
  responses: true,
  balance: { unit: 'cny', read: fromCreditGrants('total_available') },
  models: openai.models ?? [],
})

/** OpenAI-SB requires the key in the URL. */
const fromOpenAiSb: ReadBalance = async ({ channel, ask }) => {
  const query = `api_key=${encodeURIComponent(channel.key)}`
  const url = beside(baseUrlOf(channel), `/sb-api/user/status?${query}`)
  const Answer = z.object({ data: z.object({ credit: Amount }) })
  return parseBalance(Answer, await ask({ url, headers: bearer(channel) })).data.credit
}

export const openaiSb = openaiVendor({
  type: 5,
  label: reseller('OpenAI-SB'),
  color: 'brown',
  baseUrl: 'https://api.openai-sb.com',
  legacy: true,
  listPosition: 450,
  responses: true,
  balance: { unit: 'cny_per_10000', read: fromOpenAiSb },
  models: openai.models ?? [],
})

export const openaiMax = openaiVendor({
  type: 6,
  label: reseller('OpenAI Max'),
  color: 'violet',
  baseUrl: 'https://api.openaimax.com',
  legacy: true,
  listPosition: 490,
  responses: true,
  models: openai.models ?? [],
})

export const ohMyGpt = openaiVendor({
  type: 7,
  label: reseller('OhMyGPT'),
  color: 'purple',
  baseUrl: 'https://api.ohmygpt.com',
  legacy: true,
  listPosition: 460,
  responses: true,
  models: openai.models ?? [],
})

export const aiLs = openaiVendor({
  type: 9,
  label: reseller('AI.LS'),
  color: 'yellow',
  baseUrl: 'https://api.caipacity.com',
  legacy: true,
  listPosition: 500,
  responses: true,
  models: openai.models ?? [],
})

/** The account's endpoint is on the host of the website, not of the API. */
const fromAiProxy: ReadBalance = async ({ channel, ask }) => {
  const base = trimBaseUrl(channel.base_url ?? '') || 'https://aiproxy.io'
  const url = beside(base, '/api/report/getUserOverview')
  const Answer = z.object({ success: z.literal(true), data: z.object({ totalPoints: Amount }) })
  return parseBalance(Answer, await ask({ url, headers: { 'api-key': channel.key } })).data
    .totalPoints
}

export const aiProxy = openaiVendor({
  type: 10,
  label: reseller('AI Proxy'),
  color: 'purple',
  baseUrl: 'https://api.aiproxy.io',
  legacy: true,
  listPosition: 470,
  responses: true,
  balance: { unit: 'quota', read: fromAiProxy },
  models: openai.models ?? [],
})

export const api2Gpt = openaiVendor({
  type: 12,
  label: reseller('API2GPT'),
  color: 'blue',
  baseUrl: 'https://api.api2gpt.com',
  legacy: true,
  listPosition: 510,
  responses: true,
  balance: { unit: 'cny', read: fromCreditGrants('total_remaining') },
  models: openai.models ?? [],
})

export const aigc2d = openaiVendor({
  type: 13,
  label: reseller('AIGC2D'),
  color: 'purple',
  baseUrl: 'https://api.aigc2d.com',
  legacy: true,
  listPosition: 520,
  responses: true,
  balance: { unit: 'quota', read: fromCreditGrants('total_available') },
  models: openai.models ?? [],
})
