import { z } from 'zod'
import {
  bearerOf,
  channelType,
  isCloudflareGateway,
  type Protocol,
} from '../../../contract/channel-types.ts'
import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { AppError } from '../../app-error.ts'
import type { Config } from '../../config.ts'
import { MODEL_LENGTH_MAX } from '../channel-input.ts'
import { configTexts, parseConfigObject } from '../channel-config.ts'
import {
  baseUrlOf,
  beside,
  belowVersion,
  type AskedChannel,
  type AskUpstream,
  type UpstreamQuestion,
} from './channel-upstream.ts'

/** How the upstreams of a protocol are asked for their models, and where an answer names them. */
interface Listing {
  question(channel: AskedChannel, geminiVersion: string): UpstreamQuestion
  shape: z.ZodType<string[]>
}

/** Models that one answer may bring; the longest list known has some hundred. */
const MODELS_MAX = 5000
const ANTHROPIC_VERSION = '2023-06-01'

const bearer = ({ type, key }: AskedChannel): Record<string, string> => ({
  authorization: `Bearer ${bearerOf(type, key).secret}`,
})

/** Names in the given member of the objects of a list. */
const namesIn = (list: string, member: string): z.ZodType<string[]> =>
  z
    .object({ [list]: z.array(z.object({ [member]: z.string() })) })
    .transform((answer) => (answer[list] ?? []).map((model) => model[member] ?? ''))

/** Google names its models by where they lie, and is asked for them by what follows. */
const withoutFolder = (name: string): string => name.replace(/^models\//, '')

const GeminiModels = z
  .object({
    models: z.array(
      z.object({
        name: z.string(),
        supportedGenerationMethods: z.array(z.string()).default([]),
      }),
    ),
  })
  .transform(({ models }) =>
    models
      .filter(({ supportedGenerationMethods: methods }) =>
        methods.some((method) => method === 'generateContent' || method === 'embedContent'),
      )
      .map(({ name }) => withoutFolder(name)),
  )

const listings: Partial<Record<Protocol, Listing>> = {
  openai: {
    question: (channel) => ({
      url: belowVersion(channel, '/v1/models'),
      headers: bearer(channel),
    }),
    shape: namesIn('data', 'id'),
  },
  anthropic: {
    question: (channel) => ({
      url: beside(baseUrlOf(channel), '/v1/models?limit=1000'),
      headers: { 'x-api-key': channel.key, 'anthropic-version': ANTHROPIC_VERSION },
    }),
    shape: namesIn('data', 'id'),
  },
  gemini: {
    question: (channel, geminiVersion) => {
      const version = channelConfig(channel).api_version || geminiVersion
      return {
        url: beside(
          baseUrlOf(channel),
          `/${encodeURIComponent(version)}/models?pageSize=${GEMINI_PAGE_SIZE}`,
        ),
        headers: { 'x-goog-api-key': channel.key },
      }
    },
    shape: GeminiModels,
  },
  ollama: {
    question: (channel) => ({
      url: beside(baseUrlOf(channel), '/api/tags'),
      headers: bearer(channel),
    }),
    shape: namesIn('models', 'name'),
  },
  cohere: {
    question: (channel) => ({
      url: beside(baseUrlOf(channel), '/v1/models?page_size=1000'),
      headers: bearer(channel),
    }),
    shape: namesIn('models', 'name'),
  },
  dashscope: {
    question: (channel) => ({
      url: `${versioned(channel, '/compatible-mode/v1')}/models`,
      headers: bearer(channel),
    }),
    shape: namesIn('data', 'id'),
  },
  zhipu: {
    question: (channel) => ({
      url: `${versioned(channel, '/api/paas/v4')}/models`,
      headers: bearer(channel),
    }),
    shape: namesIn('data', 'id'),
  },
  // It has languages; a model is named after the one it translates to.
  deepl: {
    question: (channel) => ({
      url: beside(baseUrlOf(channel), '/v2/languages?type=target'),
      headers: { authorization: `DeepL-Auth-Key ${channel.key}` },
    }),
    shape: namesIn('data', 'language').transform((languages) =>
      languages.map((language) => `deepl-${language.toLowerCase()}`),
    ),
  },
  cloudflare: {
    question: (channel) => {
      const base = baseUrlOf(channel)
      const account = cloudflareAccount(channel, base)
      const path = `/client/v4/accounts/${account}/ai/models/search?per_page=1000`
      // The gateway passes calls on and has no list; whose key it is can ask Cloudflare itself.
      const asked = isCloudflareGateway(base) ? channelType(channel.type).baseUrl : base
      return { url: beside(asked, path), headers: bearer(channel) }
    },
    shape: namesIn('result', 'name'),
  },
}

const GEMINI_PAGE_SIZE = 1000

const GATEWAY_ACCOUNT = /^https?:\/\/[^/]+\/v1\/([^/]+)/i

/** A gateway has the account in its own address, and its calls need no field for it. */
function cloudflareAccount(channel: AskedChannel, base: string): string {
  const [, account] = isCloudflareGateway(base) ? (GATEWAY_ACCOUNT.exec(base) ?? []) : []
  return encodeURIComponent(account ?? channelConfig(channel).user_id ?? '')
}

/** An address that names a version is whole. */
function versioned(channel: AskedChannel, path: string): string {
  const base = baseUrlOf(channel)
  return /\/v\d+$/.test(base) ? base : `${base}${path}`
}

const channelConfig = (channel: AskedChannel) =>
  configTexts(parseConfigObject(channel.config) ?? {})

/** A name that a comma list can hold and a person can read. */
const isStorable = (name: string): boolean =>
  name !== '' && name.length <= MODEL_LENGTH_MAX && !/[,\p{Cc}\p{Cf}\p{Cs}]/u.test(name)

/**
 * Names of the models that the upstream offers to the channel's key, each once, sorted. Throws the
 * refusal that says why they are not known.
 */
export async function readUpstreamModels(
  channel: AskedChannel,
  ask: AskUpstream,
  { GEMINI_VERSION }: Pick<Config, 'GEMINI_VERSION'>,
): Promise<string[]> {
  const { protocol, label } = channelType(channel.type)
  const listing = listings[protocol]
  if (listing === undefined) throw new AppError('channel_models_unsupported', { type: label.zh })
  const parsed = listing.shape.safeParse(await ask(listing.question(channel, GEMINI_VERSION)))
  if (!parsed.success) throw new AppError('channel_models_unreadable')
  // Google's list in OpenAI's dialect, too (OpenCoworkAI/open-codesign#186).
  const isGoogles = channel.type === ChannelTypeNumber.geminiOpenai
  const listed = isGoogles ? parsed.data.map(withoutFolder) : parsed.data
  const names = new Set(listed.map((name) => name.trim()).filter(isStorable))
  return [...names].slice(0, MODELS_MAX).toSorted()
}
