import type { Provider } from '../../protocols/dialect/provider.ts'
import { namedEvents } from '../shared/named-events.ts'
import { names, nativeVendor } from '../vendor.ts'
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

/** In OpenAI's dialect; edits and a walk convert it to Replicate's. */
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
      pictures: 'one, as data or by address; several for models of OpenAI and Google',
      tools: 'no',
      json: 'no',
      thinking: 'no',
      usage: 'of models that are sold by the token; otherwise counted here',
    },
    notes: [
      'A model is `owner/name`, or `owner/name:version` for other people’s models.',
      'A conversation is written down as one prompt, as these models take one.',
      'Instructions, the limit and pictures go by the names of the model’s owner. Claude’s models ' +
        'take no limit below 1024: smaller ones become that.',
      'A prediction that is not over in time is asked about, for ten minutes at most, and cancelled ' +
        'when nobody waits for it.',
      'Streams are followed, and pictures fetched for clients that want bytes, at Replicate’s own ' +
        'hosts and the channel’s only. Addresses of pictures end after an hour.',
      'Members of a picture request that OpenAI does not know go to the model as they are.',
    ],
  },
})
