import { z } from 'zod'
import { field } from '../../../../contract/channel-type-row.ts'
import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { configOf, withoutModelsPrefix } from '../shared/model-list.ts'
import { names, nativeVendor } from '../vendor.ts'
import { geminiHeaders, geminiUrl, geminiVia } from './address.ts'
import { googlesMedia } from './media.ts'

const usual: Provider = {
  dialect: 'gemini',
  url: geminiUrl,
  headers: geminiHeaders,
  asksForUsage: () => false,
  via: geminiVia,
}

const MODELS_PER_PAGE = 1000

const Models = z
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
      .map(({ name }) => withoutModelsPrefix(name)),
  )

/** What OpenAI's clients can ask of Google's models for images, speech and transcription. */
export const GOOGLE_MEDIA_NOTES: readonly string[] = [
  'For OpenAI’s clients `imagen-…` and Gemini’s picture models draw, and the latter change pictures, ' +
    'sent as files or in JSON: sizes become the nearest shape (from Gemini 3 on 2K and 4K, too), ' +
    'and pictures come as bytes, or as an address that holds them. Gemini draws one picture a ' +
    'call, so several take as many calls.',
  'Gemini’s voices read aloud into `wav` (unless it is said otherwise) or `pcm`, `instructions` ' +
    'before the text. Other formats, and another `speed`, are refused.',
  'Gemini’s models write recordings down, and translate them, as `json` or `text`; times, subtitles ' +
    'and who speaks are refused.',
]

export const gemini = nativeVendor({
  type: 24,
  label: { zh: 'Gemini', en: 'Google Gemini' },
  color: 'orange',
  baseUrl: 'https://generativelanguage.googleapis.com',
  protocol: 'gemini',
  fields: [
    field(
      'api_version',
      { zh: 'API 版本', en: 'API version' },
      { alsoOther: true, placeholder: 'v1beta' },
    ),
  ],
  modelVendor: 'google',
  listPosition: 80,
  provider(model, task) {
    const media = googlesMedia(model, task)
    return media === null ? usual : { ...usual, ...media }
  },
  modelList: {
    question(channel, geminiVersion) {
      const version = encodeURIComponent(configOf(channel).api_version || geminiVersion)
      return {
        url: beside(baseUrlOf(channel), `/${version}/models?pageSize=${MODELS_PER_PAGE}`),
        headers: { 'x-goog-api-key': channel.key },
      }
    },
    shape: Models,
  },
  models: names(`
    gemma-2-2b-it gemma-2-9b-it gemma-2-27b-it gemma-3-27b-it gemini-embedding-001
    gemini-embedding-2-preview gemini-embedding-2 gemini-3.1-pro-preview
    gemini-3.1-pro-preview-customtools gemini-3.1-flash-image-preview gemini-3.1-flash-image
    gemini-3.1-flash-lite-image gemini-3.1-flash-lite gemini-3.1-flash-lite-preview
    gemini-3.1-flash-tts-preview gemini-3-pro-preview gemini-3-flash-preview gemini-3.5-flash
    gemini-3.6-flash gemini-3.5-flash-lite gemini-omni-flash-preview gemini-3-pro-image-preview
    gemini-3-pro-image gemini-2.5-pro gemini-2.5-pro-preview gemini-2.5-computer-use-preview
    gemini-2.5-computer-use-preview-10-2025 gemini-2.5-flash gemini-2.5-flash-preview
    gemini-2.5-flash-preview-09-2025 gemini-2.5-flash-lite gemini-2.5-flash-lite-preview
    gemini-2.5-flash-lite-preview-09-2025 gemini-2.5-flash-image gemini-2.5-flash-image-preview
    gemini-2.5-flash-preview-tts gemini-2.5-pro-preview-tts gemini-robotics-er-1.5-preview
    gemini-robotics-er-1.6-preview imagen-4.0-generate-001 imagen-4.0-ultra-generate-001
    imagen-4.0-fast-generate-001 gemini-2.0-flash gemini-2.0-flash-image gemini-2.0-flash-lite
    gemini-pro gemini-1.0-pro gemini-1.5-flash gemini-1.5-flash-8b gemini-1.5-pro
    gemini-1.5-pro-experimental text-embedding-004 gemini-2.0-flash-exp
    gemini-2.0-flash-lite-preview-02-05 gemini-2.0-flash-thinking-exp-01-21 gemini-2.0-pro-exp-02-05
  `),
  owner: 'google gemini',
  ownerRank: 3,
  priceLists: { rank: 30, modelsDev: ['google'], liteLlm: 'gemini' },
  docs: {
    source:
      'Google, Gemini API reference: Generating content, Embeddings; Image generation, Imagen, Speech ' +
      'generation, Audio understanding',
    chat: {
      pictures: 'as data, or by an https address that Google fetches',
      tools: 'yes',
      json: 'with or without a schema',
      thinking: 'budgets or levels, by model; seals are kept',
      usage: 'always; thoughts apart',
    },
    notes: [
      'More than 100 texts to embed go in several calls, of clients of OpenAI.',
      'What vectors are for can be said by `task_type` or Cohere’s `input_type`.',
      ...GOOGLE_MEDIA_NOTES,
    ],
  },
})
