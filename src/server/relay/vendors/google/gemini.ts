import { z } from 'zod'
import { field } from '../../../../contract/channel-type-row.ts'
import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { configOf, withoutModelsPrefix } from '../shared/model-list.ts'
import { YES, names, nativeVendor, type VendorDocs } from '../vendor.ts'
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

/** Images, speech and transcription of Google's models for OpenAI clients. */
export const GOOGLE_MEDIA_NOTES: VendorDocs['notes'] = [
  {
    en: 'For OpenAI clients, `imagen-…` and Gemini’s image models generate images. Gemini’s image models also edit images, sent as files or in JSON. Sizes become the nearest aspect ratio (from Gemini 3 on also 2K and 4K). Images are returned as bytes or as data URLs. Gemini generates one image per request, so several images take several upstream requests.',
    zh: 'OpenAI 客户端可以用 `imagen-…` 和 Gemini 的图片模型生成图片，后者还能编辑用文件或 JSON 发送的图片。尺寸换成最接近的宽高比（Gemini 3 起还有 2K 和 4K）。图片以数据或 data URL 返回。Gemini 每个请求生成一张，所以多张图片需要多个上游请求。',
  },
  {
    en: 'Gemini’s text-to-speech models produce `wav` (the default) or `pcm`; `instructions` are placed before the text. Other formats and `speed` are rejected.',
    zh: 'Gemini 的语音合成模型生成 `wav`（默认）或 `pcm`；`instructions` 放在文本之前。其他格式和 `speed` 会被拒绝。',
  },
  {
    en: 'Gemini’s models transcribe and translate recordings to `json` or `text`. Timestamps, subtitles and speaker labels are rejected.',
    zh: 'Gemini 的模型把录音转写或翻译为 `json` 或 `text`。时间戳、字幕和说话人会被拒绝。',
  },
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
      images: {
        en: 'as data, or by an https URL that Google fetches',
        zh: '以数据发送，或由 Google 读取的 https 网址',
      },
      tools: YES,
      json: { en: 'with or without a schema', zh: '带或不带 schema' },
      reasoning: {
        en: 'a budget or a level, by model; thought signatures are kept',
        zh: '预算或级别，取决于模型；保留思考签名',
      },
      usage: {
        en: 'always, with reasoning tokens listed separately',
        zh: '总会给出，思考的 tokens 单独列出',
      },
    },
    notes: [
      {
        en: 'Embedding more than 100 texts takes several upstream requests for OpenAI clients.',
        zh: 'OpenAI 客户端一次超过 100 段文本的向量请求会分成多个上游请求。',
      },
      {
        en: '`task_type` or Cohere’s `input_type` states what the embeddings are for.',
        zh: '用 `task_type` 或 Cohere 的 `input_type` 说明向量的用途。',
      },
      ...GOOGLE_MEDIA_NOTES,
    ],
  },
})
