import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import { anthropicItself } from '../../protocols/anthropic/read-answer.ts'
import type {
  Provider,
  ProviderCall,
  ProviderChannel,
  Task,
} from '../../protocols/dialect/provider.ts'
import type { VendorRefusals } from '../shared/refusals.ts'
import { type ModelList, namesIn } from '../shared/model-list.ts'
import { YES, names, nativeVendor, type VendorDocs } from '../vendor.ts'
import { channelType } from '../../../../contract/channel-types.ts'

/**
 * Sources: https://platform.claude.com/docs/en/api/versioning and
 * https://platform.claude.com/docs/en/api/beta-headers.
 */
const ANTHROPIC_VERSION = '2023-06-01'

const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/messages',
  countTokens: '/messages/count_tokens',
}

function anthropicUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  const path = PATHS[call.task]
  const base = channel.baseUrl || channelType(channel.type).baseUrl
  if (path === undefined || base === '') return null
  const isBeta = call.clientQuery.get('beta') === 'true'
  const root = /\/v\d+$/.test(base) ? base : `${base}/v1`
  return `${root}${path}${isBeta ? '?beta=true' : ''}`
}

/** Passes the version and the betas of a client that uses the same dialect to the upstream. */
export function anthropicHeaders(
  channel: ProviderChannel,
  { clientHeaders }: ProviderCall,
): Record<string, string> {
  const version = clientHeaders['anthropic-version']
  const beta = clientHeaders['anthropic-beta']
  return {
    'x-api-key': channel.key,
    'anthropic-version': typeof version === 'string' ? version : ANTHROPIC_VERSION,
    ...(typeof beta === 'string' ? { 'anthropic-beta': beta } : {}),
  }
}

/** Default call of Anthropic's API. */
export const anthropicProvider: Provider = {
  dialect: 'anthropic',
  url: anthropicUrl,
  headers: anthropicHeaders,
  asksForUsage: () => false,
}

/** Source: Anthropic's API reference, "List Models". */
export const anthropicModelList: ModelList = {
  question: (channel) => ({
    url: beside(baseUrlOf(channel), '/v1/models?limit=1000'),
    headers: { 'x-api-key': channel.key, 'anthropic-version': ANTHROPIC_VERSION },
  }),
  shape: namesIn('data', 'id'),
}

/**
 * Anthropic sends both errors with status 400. Source: Anthropic's help center
 * (https://support.anthropic.com), articles about credits and about disabled organizations.
 */
export const anthropicRefusals: VendorRefusals = {
  meaning({ message }) {
    if (message.startsWith('Your credit balance is too low to access the ')) return { status: 402 }
    return message.startsWith('This organization has been disabled') ? { status: 401 } : undefined
  },
}

/** Features that Anthropic's API supports. */
export const ANTHROPIC_CHAT: VendorDocs['chat'] = {
  images: {
    en: 'jpeg, png, gif, webp; as data or by URL',
    zh: 'jpeg、png、gif、webp；以数据或网址发送',
  },
  tools: YES,
  json: {
    en: 'with a schema; without one it is requested by a sentence in the prompt',
    zh: '带 schema；不带时要求写在提示里',
  },
  reasoning: {
    en: 'a budget or an effort, by model; signatures are kept',
    zh: '预算或强度，取决于模型；保留签名',
  },
  usage: {
    en: 'always, with cache reads and writes listed separately',
    zh: '总会给出，缓存的读取和写入单独列出',
  },
}

export const anthropic = nativeVendor({
  type: 14,
  label: { zh: 'Anthropic', en: 'Anthropic Claude' },
  color: 'black',
  baseUrl: 'https://api.anthropic.com',
  protocol: 'anthropic',
  modelVendor: 'anthropic',
  listPosition: 30,
  provider: { ...anthropicProvider, reading: anthropicItself },
  traits: { servesClaude: true, searchesWeb: () => true },
  refusals: anthropicRefusals,
  modelList: anthropicModelList,
  models: names(`
    claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-fable-5-1 claude-sonnet-5
    claude-opus-4-0 claude-opus-4-20250514 claude-opus-4-1 claude-opus-4-1-20250805 claude-opus-4-5
    claude-opus-4-5-20251101 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5
    claude-fable-5 claude-mythos-5 claude-sonnet-4-0 claude-sonnet-4-20250514 claude-sonnet-4-5
    claude-sonnet-4-5-20250929 claude-sonnet-4-6 claude-haiku-4-5 claude-haiku-4-5-20251001
    claude-3-opus-20240229 claude-3-7-sonnet-latest claude-3-7-sonnet-20250219
    claude-3-5-sonnet-latest claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022
    claude-3-sonnet-20240229 claude-3-5-haiku-latest claude-3-5-haiku-20241022
    claude-3-haiku-20240307 claude-2.1 claude-2.0 claude-instant-1.2
  `),
  owner: 'anthropic',
  ownerRank: 2,
  priceLists: { rank: 20, modelsDev: ['anthropic'] },
  docs: {
    source: 'Anthropic, API reference: Messages, Streaming messages',
    chat: ANTHROPIC_CHAT,
    notes: [
      {
        en: 'The headers `anthropic-version` and `anthropic-beta` of Anthropic clients are forwarded.',
        zh: '转发 Anthropic 客户端的请求头 `anthropic-version` 和 `anthropic-beta`。',
      },
    ],
  },
})
