import { field } from '../../../../contract/channel-type-row.ts'
import { channelType, isCloudflareGateway } from '../../../../contract/channel-types.ts'
import { type AskedChannel, baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { roleEdits } from '../../protocols/openai-chat/message-edits.ts'
import { type ModelList, bearer, configOf, namesIn } from '../shared/model-list.ts'
import { openaiHeaders } from '../openai-vendor.ts'
import { OPENAI_CHAT, names, nativeVendor } from '../vendor.ts'
import { cloudflareUrl } from './address.ts'
import { cloudflareMedia } from './media.ts'

const usual: Provider = {
  dialect: 'openai',
  url: cloudflareUrl,
  headers: openaiHeaders,
  asksForUsage: () => true,
  edits: roleEdits,
}

const GATEWAY_ACCOUNT = /^https?:\/\/[^/]+\/v1\/([^/]+)/i

/**
 * The URL of an AI Gateway contains the account; for other channels the account is a form field.
 */
function accountOf(channel: AskedChannel, base: string): string {
  const [, account] = isCloudflareGateway(base) ? (GATEWAY_ACCOUNT.exec(base) ?? []) : []
  return encodeURIComponent(account ?? configOf(channel).user_id ?? '')
}

const modelList: ModelList = {
  question(channel) {
    const base = baseUrlOf(channel)
    const path = `/client/v4/accounts/${accountOf(channel, base)}/ai/models/search?per_page=1000`
    // A gateway has no model list; its key also works for Cloudflare's own API.
    const asked = isCloudflareGateway(base) ? channelType(channel.type).baseUrl : base
    return { url: beside(asked, path), headers: bearer(channel) }
  },
  shape: namesIn('result', 'name'),
}

export const cloudflare = nativeVendor({
  type: 37,
  label: { zh: 'Cloudflare', en: 'Cloudflare Workers AI' },
  color: 'orange',
  baseUrl: 'https://api.cloudflare.com',
  protocol: 'cloudflare',
  fields: [
    field(
      'user_id',
      { zh: '账户 ID（Account ID）', en: 'Account ID' },
      { required: true, isAccount: true, placeholder: '0123456789abcdef0123456789abcdef' },
    ),
  ],
  notice: {
    zh: '账户 ID 是控制台地址里的 32 位十六进制字符；密钥是 API 令牌',
    en: 'The account ID is the 32 hex digits in the dashboard’s address; the key is an API token',
  },
  partAddress: /^(https?:\/\/.+)\/client\/v4(?:\/accounts\/[^/]+(?:\/ai(?:\/v1)?)?)?$/i,
  modelVendor: 'cloudflare-workers-ai',
  listPosition: 320,
  provider: (model, task) => ({ ...usual, ...cloudflareMedia(model, task) }),
  modelList,
  models: names(`
    @cf/meta/llama-3.2-1b-instruct @cf/meta/llama-3.2-3b-instruct
    @cf/meta/llama-3.1-8b-instruct-fp8-fast @cf/meta/llama-3.2-11b-vision-instruct
    @cf/meta/llama-3.1-70b-instruct-fp8-fast @cf/meta/llama-3.3-70b-instruct-fp8-fast
    @cf/meta/llama-3.1-8b-instruct @cf/meta/llama-3.1-8b-instruct-fp8
    @cf/meta/llama-3.1-8b-instruct-awq @cf/meta/llama-3-8b-instruct @cf/meta/llama-3-8b-instruct-awq
    @cf/meta/llama-2-7b-chat-fp16 @cf/meta/llama-guard-3-8b @cf/meta/llama-4-scout-17b-16e-instruct
    @cf/mistral/mistral-7b-instruct-v0.1 @cf/mistralai/mistral-small-3.1-24b-instruct
    @cf/deepseek-ai/deepseek-r1-distill-qwen-32b @cf/google/gemma-3-12b-it
    @cf/google/gemma-4-26b-a4b-it @cf/qwen/qwq-32b @cf/qwen/qwen2.5-coder-32b-instruct
    @cf/qwen/qwen3-30b-a3b-fp8 @cf/moondream/moondream3.1-9B-A2B @cf/ibm-granite/granite-4.0-h-micro
    @cf/zai-org/glm-4.7-flash @cf/zai-org/glm-5.2 @cf/nvidia/nemotron-3-120b-a12b
    @cf/moonshotai/kimi-k2.5 @cf/moonshotai/kimi-k2.6 @cf/moonshotai/kimi-k2.7-code
    @cf/openai/gpt-oss-120b @cf/openai/gpt-oss-20b @cf/aisingapore/gemma-sea-lion-v4-27b-it
    @cf/baai/bge-small-en-v1.5 @cf/baai/bge-base-en-v1.5 @cf/baai/bge-large-en-v1.5 @cf/baai/bge-m3
    @cf/pfnet/plamo-embedding-1b @cf/qwen/qwen3-embedding-0.6b
  `),
  owner: 'cloudflare',
  ownerRank: 103,
  priceLists: { rank: 230, modelsDev: ['cloudflare-workers-ai'] },
  docs: {
    source:
      'Cloudflare, Workers AI: OpenAI compatible API endpoints, REST API, Models; AI Gateway: Workers AI',
    chat: OPENAI_CHAT,
    notes: [
      {
        en: 'A base URL of AI Gateway contains the account ID; the account field is then ignored.',
        zh: 'AI Gateway 的接口地址里已有账户 ID，此时忽略账户字段。',
      },
      {
        en: '`flux-1-schnell`, `lucid-origin`, `phoenix-1.0`, `dreamshaper-8-lcm` and Stable Diffusion XL generate one image per call through `/ai/run`, up to 1024 × 1024 pixels (Flux: exactly that size), with the model’s default number of steps.',
        zh: '`flux-1-schnell`、`lucid-origin`、`phoenix-1.0`、`dreamshaper-8-lcm` 和 Stable Diffusion XL 通过 `/ai/run` 每次生成一张图片，最大 1024 × 1024 像素（Flux 只有这一种尺寸），步数用模型的默认值。',
      },
      {
        en: '`whisper-large-v3-turbo` transcribes and translates to `json`, `text` or `vtt`. `whisper` only transcribes, and accepts no parameters about the recording. `bge-reranker-base` reranks. Parameters that these models lack are rejected.',
        zh: '`whisper-large-v3-turbo` 转写和翻译，格式为 `json`、`text` 或 `vtt`。`whisper` 只转写，不接受关于录音的参数。`bge-reranker-base` 用于重排。这些模型没有的参数会被拒绝。',
      },
      {
        en: 'Not supported: text-to-speech, Deepgram’s models, image editing, FLUX.2 and `/v1/completions`.',
        zh: '不支持：语音合成、Deepgram 的模型、图片编辑、FLUX.2 和 `/v1/completions`。',
      },
      {
        en: 'The role `developer` is sent as `system`.',
        zh: '`developer` 角色作为 `system` 发送。',
      },
    ],
  },
})
