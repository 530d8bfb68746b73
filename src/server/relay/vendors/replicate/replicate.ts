import type { Provider } from '../../protocols/dialect/provider.ts'
import { namedEvents } from '../shared/named-events.ts'
import { NO, names, nativeVendor } from '../vendor.ts'
import { replicateHeaders, replicateUrl } from './address.ts'
import { imageRequestEdits } from './images.ts'
import { replicateVia } from './prediction.ts'
import { readReplicateAnswer, readReplicateEvent } from './read-answer.ts'
import { REPLICATE_LACKS, writeReplicateRequest } from './write-request.ts'

const provider: Provider = {
  dialect: {
    name: 'replicate',
    writeRequest: writeReplicateRequest,
    lacks: REPLICATE_LACKS,
    readAnswer: readReplicateAnswer,
    readStream: () => ({ read: readReplicateEvent }),
  },
  url: replicateUrl,
  headers: replicateHeaders,
  asksForUsage: () => false,
  wire: namedEvents,
  via: replicateVia,
}

/** Images: requests are in OpenAI's format; edits and a walk convert them to Replicate's. */
const images: Provider = { ...provider, dialect: 'openai', edits: imageRequestEdits }

export const replicate = nativeVendor({
  type: 46,
  label: 'Replicate',
  color: 'blue',
  baseUrl: 'https://api.replicate.com/v1/models',
  protocol: 'replicate',
  listPosition: 390,
  provider: (_model, task) => (task === 'images' ? images : provider),
  traits: { drawsNoGroups: true },
  models: names(`
    black-forest-labs/flux-kontext-pro black-forest-labs/flux-1.1-pro black-forest-labs/flux-2-dev
    black-forest-labs/flux-2-max black-forest-labs/flux-2-pro black-forest-labs/flux-2-flex
    black-forest-labs/flux-2-klein-4b black-forest-labs/flux-1.1-pro-ultra
    black-forest-labs/flux-canny-dev black-forest-labs/flux-canny-pro
    black-forest-labs/flux-depth-dev black-forest-labs/flux-depth-pro black-forest-labs/flux-dev
    black-forest-labs/flux-dev-lora black-forest-labs/flux-fill-dev black-forest-labs/flux-fill-pro
    black-forest-labs/flux-pro black-forest-labs/flux-redux-dev black-forest-labs/flux-redux-schnell
    black-forest-labs/flux-schnell black-forest-labs/flux-schnell-lora bytedance/dreamina-3.1
    bytedance/seedream-3 bytedance/seedream-4 bytedance/seedream-4.5 bytedance/seedream-5-lite
    openai/gpt-image-2 google/imagen-4 google/imagen-4-ultra google/imagen-4-fast google/imagen-3
    google/imagen-3-fast ideogram-ai/ideogram-v2 ideogram-ai/ideogram-v2-turbo
    ideogram-ai/ideogram-v3-turbo ideogram-ai/ideogram-v3-balanced ideogram-ai/ideogram-v3-quality
    recraft-ai/recraft-v3 recraft-ai/recraft-v3-svg stability-ai/stable-diffusion-3
    stability-ai/stable-diffusion-3.5-large stability-ai/stable-diffusion-3.5-large-turbo
    stability-ai/stable-diffusion-3.5-medium anthropic/claude-3.5-haiku anthropic/claude-3.5-sonnet
    anthropic/claude-3.7-sonnet anthropic/claude-4-sonnet anthropic/claude-4.5-haiku
    anthropic/claude-4.5-sonnet anthropic/claude-opus-4.6 anthropic/claude-opus-4.7
    deepseek-ai/deepseek-r1 deepseek-ai/deepseek-v3 deepseek-ai/deepseek-v3.1
    google/gemini-2.5-flash google/gemini-3-pro google/gemini-3.1-pro
    ibm-granite/granite-20b-code-instruct-8k ibm-granite/granite-3.0-2b-instruct
    ibm-granite/granite-3.0-8b-instruct ibm-granite/granite-3.1-2b-instruct
    ibm-granite/granite-3.1-8b-instruct ibm-granite/granite-3.2-8b-instruct
    ibm-granite/granite-3.3-8b-instruct ibm-granite/granite-4.0-h-small
    ibm-granite/granite-8b-code-instruct-128k meta/llama-2-13b meta/llama-2-13b-chat
    meta/llama-2-70b meta/llama-2-70b-chat meta/llama-2-7b meta/llama-2-7b-chat
    meta/llama-4-maverick-instruct meta/llama-4-scout-instruct meta/meta-llama-3.1-405b-instruct
    meta/meta-llama-3-70b meta/meta-llama-3-70b-instruct meta/meta-llama-3-8b
    meta/meta-llama-3-8b-instruct mistralai/mistral-7b-instruct-v0.2 mistralai/mistral-7b-v0.1
    moonshotai/kimi-k2.5 openai/gpt-4.1 openai/gpt-5 openai/gpt-5-mini openai/gpt-5-nano
    openai/gpt-5-structured openai/gpt-5.2 openai/gpt-5.6-sol openai/gpt-5.6-terra
    openai/gpt-5.6-luna openai/gpt-oss-120b openai/gpt-oss-20b qwen/qwen3-235b-a22b-instruct-2507
    xai/grok-4
  `),
  owner: 'replicate',
  ownerRank: 107,
  docs: {
    source:
      'Replicate, HTTP API reference: Create, Get and Cancel a prediction; Streaming output; input ' +
      'schemas of the official models',
    chat: {
      images: {
        en: 'one, as data or by URL; several for models of OpenAI and Google',
        zh: '一张，以数据或网址发送；OpenAI 和 Google 的模型可以多张',
      },
      tools: NO,
      json: NO,
      reasoning: NO,
      usage: {
        en: 'for models that are billed by token; otherwise counted by Gatehouse',
        zh: '按 tokens 计费的模型会给出；其余由网关计数',
      },
    },
    notes: [
      {
        en: 'The model is `owner/name`, or `owner/name:version` for community models.',
        zh: '模型是 `owner/name`；社区模型是 `owner/name:version`。',
      },
      {
        en: 'A conversation is sent as one prompt, because these models accept only one.',
        zh: '这些模型只接受一个提示，所以整个对话作为一个提示发送。',
      },
      {
        en: 'System prompt, output limit and images use the parameter names of the model’s owner. Claude models require a limit of at least 1024; smaller limits are raised.',
        zh: '系统提示词、输出上限和图片使用模型所有者的参数名。Claude 的上限至少为 1024，更小的会提高到这个值。',
      },
      {
        en: 'Gatehouse polls an unfinished prediction for at most ten minutes, and cancels it when the client disconnects.',
        zh: '未完成的 prediction 最多轮询十分钟，客户端断开时取消。',
      },
      {
        en: 'Stream URLs, and images for clients that request bytes, are fetched only from Replicate’s hosts and the channel’s own. Image URLs expire after one hour.',
        zh: '流的网址，以及客户端要求数据时的图片，只从 Replicate 的主机和渠道自己的主机读取。图片网址一小时后失效。',
      },
      {
        en: 'Members of an image request that OpenAI’s API does not have are passed to the model unchanged.',
        zh: '图片请求里 OpenAI 接口没有的字段会原样发给模型。',
      },
    ],
  },
})
