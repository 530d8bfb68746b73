import { budgetOption, hasFeature } from '../../../model/capabilities.ts'
import type { UpstreamTraits } from '../../protocols/dialect/traits.ts'
import { byBudget, byFlag } from '../../protocols/openai-chat/thinking/switches.ts'
import { field } from '../../../../contract/channel-type-row.ts'
import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { formAsJson } from '../shared/image-form.ts'
import type { VendorRefusals } from '../shared/refusals.ts'
import { recordingAsJson } from '../google/transcription-content.ts'
import { modelListBelow } from '../shared/model-list.ts'
import { OPENAI_CHAT, names, nativeVendor } from '../vendor.ts'
import { dashscopeEdits, dashscopeHeaders, dashscopeUrl, dashscopeVia } from './address.ts'

const usual: Provider = {
  dialect: 'openai',
  url: dashscopeUrl,
  headers: dashscopeHeaders,
  asksForUsage: () => true,
  edits: dashscopeEdits,
  via: dashscopeVia,
}

/** DashScope accepts no multipart forms. */
const imageEditing: Provider = { ...usual, ofForm: formAsJson }
const transcribing: Provider = { ...usual, ofForm: recordingAsJson }

/** Provider for everything except chat; Bailian's channels use it, too. */
export function dashscopeProvider(task: Task): Provider {
  if (task === 'imageEdits') return imageEditing
  return task === 'transcriptions' ? transcribing : usual
}

/** DashScope's own API and its compatible mode have sibling paths. */
export const ALIBABA_PART =
  /^(https?:\/\/[^/]+\.aliyuncs\.com|.+(?=\/compatible-mode$))\/(?:compatible-mode|api(?:\/v\d+)?)$/i

export const alibabaRefusals: VendorRefusals = {
  hosts: /(?:^|\.)aliyuncs\.com$/,
  // DashScope reports overdue payments with status 400. It reports an exhausted token rate limit
  // with 429 and the code that OpenAI uses for an exhausted account. Source: Alibaba Cloud Model
  // Studio, "Error messages".
  meaning({ code, type }) {
    if (code === 'Arrearage') return { status: 402 }
    const isThrottled = code === 'insufficient_quota' || type === 'insufficient_quota'
    return isThrottled ? { status: 429, word: 'rate_limit_exceeded' } : undefined
  },
}

const withinBudget = byBudget((tokens, { max = Infinity }) => (tokens <= max ? tokens : null))

export const alibabaTraits: UpstreamTraits = {
  // Explicit cache marks are sent only to models with an explicit cache. Other models cache
  // implicitly without a guarantee, and charge twice as much with marks. Source: Alibaba Cloud
  // Model Studio, "Context cache", "Explicit cache".
  cachesMarked: (model) => hasFeature(model, 'cache_marks'),
  // DashScope rejects a budget above the model's maximum. Without a budget, a model may reason up
  // to its maximum. Source: Alibaba Cloud Model Studio, "Deep thinking".
  reasoningSwitch: (thinking, effort, model) =>
    budgetOption(model) === null
      ? byFlag(thinking, effort, model)
      : withinBudget(thinking, effort, model),
  // "The tool_choice parameter does not support being set to required or object in thinking mode"
  // (cloudwego/eino#994).
  forcesToolsWithoutReasoning: true,
}

export const dashscope = nativeVendor({
  type: 17,
  label: { zh: '阿里通义千问', en: 'Alibaba DashScope' },
  color: 'orange',
  baseUrl: 'https://dashscope.aliyuncs.com',
  protocol: 'dashscope',
  fields: [field('plugin', { zh: '插件参数', en: 'Plugin parameter' }, { alsoOther: true })],
  notice: {
    zh: '通过兼容模式调用；模型名以 -internet 结尾时联网搜索，插件参数随请求头发送',
    en: 'Called by its compatible mode; a model name ending in -internet searches the web',
  },
  partAddress: ALIBABA_PART,
  modelVendor: 'alibaba-cn',
  listPosition: 150,
  provider: (_model, task) => dashscopeProvider(task),
  traits: alibabaTraits,
  refusals: alibabaRefusals,
  modelList: modelListBelow('/compatible-mode/v1'),
  models: names(`
    qwen-turbo qwen-turbo-latest qwen-flash qwen-flash-latest qwen-plus qwen-plus-latest qwen-long
    qwen-max qwen-max-latest qwen-max-longcontext qwen3-max qwen3-max-preview qwen3.5-plus
    qwen3.5-flash qwen3.6-plus qwen3.6-flash qwen3.6-max-preview qwen3.8-max qwen3.7-max
    qwen3.7-max-latest qwen3.7-plus qwen3.7-plus-latest qwen-vl-max qwen-vl-max-latest qwen-vl-plus
    qwen-vl-plus-latest qwen-vl-ocr qwen-vl-ocr-latest qwen3-vl-plus qwen3-vl-flash qwen3-omni-flash
    qwen3.5-omni-plus qwen-coder-plus qwen-coder-plus-latest qwen-coder-turbo
    qwen-coder-turbo-latest qwen3-coder-plus qwen3-coder-flash qwen-vl-v1 qwen-vl-chat-v1
    qwen3-235b-a22b qwen3-235b-a22b-instruct-2507 qwen3-235b-a22b-thinking-2507 qwen3-32b
    qwen3-30b-a3b qwen3-30b-a3b-instruct-2507 qwen3-30b-a3b-thinking-2507 qwen3-14b qwen3-8b
    qwen3-4b qwen3-1.7b qwen3-0.6b qwen3-next-80b-a3b-instruct qwen3-next-80b-a3b-thinking
    qwen3-coder-480b-a35b-instruct qwen3-coder-30b-a3b-instruct qwen3-coder-next
    qwen3-vl-235b-a22b-instruct qwen3-vl-235b-a22b-thinking qwen3-vl-32b-instruct
    qwen3-vl-32b-thinking qwen3-vl-30b-a3b-instruct qwen3-vl-30b-a3b-thinking qwen3-vl-8b-instruct
    qwen3-vl-8b-thinking qwq-32b-preview qwq-32b qwq-plus qvq-72b-preview qvq-max qvq-plus
    qwen3.5-397b-a17b qwen3.5-122b-a10b qwen3.5-35b-a3b qwen3.5-27b qwen3.6-35b-a3b qwen3.6-27b
    deepseek-r1 deepseek-r1-0528 deepseek-v3 deepseek-v3.1 deepseek-v3.2 deepseek-v3.2-exp
    deepseek-r1-distill-qwen-1.5b deepseek-r1-distill-qwen-7b deepseek-r1-distill-qwen-14b
    deepseek-r1-distill-qwen-32b deepseek-r1-distill-llama-8b deepseek-v4-flash deepseek-v4-pro
    deepseek-r1-distill-llama-70b text-embedding-v3 text-embedding-v4 wanx-v1 wanx2.1-t2i-turbo
    wanx2.1-t2i-plus qwen-image-plus qwen-image qwen-image-2.0 qwen-image-pro qwen-image-2.0-pro
    qwen-image-max wan2.7-image-pro wan2.7-image wan2.6-image wan2.6-t2i wan2.5-t2i-preview
    wan2.2-t2i-plus wan2.2-t2i-flash wanx2.0-t2i-turbo qwen-audio-turbo qwen-math-plus
    qwen-math-plus-latest qwen-math-turbo qwen-math-turbo-latest qwen2.5-72b-instruct
    qwen2.5-32b-instruct qwen2.5-14b-instruct qwen2.5-7b-instruct qwen2.5-3b-instruct
    qwen2.5-1.5b-instruct qwen2.5-0.5b-instruct qwen2-72b-instruct qwen2-57b-a14b-instruct
    qwen2-7b-instruct qwen2-1.5b-instruct qwen2-0.5b-instruct qwen1.5-110b-chat qwen1.5-72b-chat
    qwen1.5-32b-chat qwen1.5-14b-chat qwen1.5-7b-chat qwen1.5-1.8b-chat qwen1.5-0.5b-chat
    qwen-72b-chat qwen-14b-chat qwen-7b-chat qwen-1.8b-chat qwen-1.8b-longcontext-chat
    qwen2.5-vl-72b-instruct qwen2.5-vl-7b-instruct qwen2.5-vl-2b-instruct qwen2.5-vl-1b-instruct
    qwen2.5-vl-0.5b-instruct qwen2-vl-7b-instruct qwen2-vl-2b-instruct qwen2-audio-instruct
    qwen-audio-chat qwen2.5-math-72b-instruct qwen2.5-math-7b-instruct qwen2.5-math-1.5b-instruct
    qwen2-math-72b-instruct qwen2-math-7b-instruct qwen2-math-1.5b-instruct
    qwen2.5-coder-32b-instruct qwen2.5-coder-14b-instruct qwen2.5-coder-7b-instruct
    qwen2.5-coder-3b-instruct qwen2.5-coder-1.5b-instruct qwen2.5-coder-0.5b-instruct
    text-embedding-v1 text-embedding-v2 ali-stable-diffusion-xl ali-stable-diffusion-v1.5
    qwen-mt-plus qwen-mt-turbo
  `),
  owner: 'ali',
  ownerRank: 21,
  priceLists: { rank: 100, modelsDev: ['alibaba', 'alibaba-cn'], liteLlm: 'dashscope' },
  docs: {
    source:
      'Alibaba Cloud Model Studio: OpenAI compatible – Chat, Embedding; Text rerank; Qwen-Image; ' +
      'Qwen-Image-Edit; Wan text-to-image V2, general image editing 2.5; asynchronous tasks; ' +
      'Qwen-TTS; CosyVoice HTTP API; Qwen-ASR',
    chat: {
      ...OPENAI_CHAT,
      reasoning: {
        en: '`enable_thinking` and `thinking_budget` in the request, `reasoning_content` in the response',
        zh: '请求里的 `enable_thinking` 和 `thinking_budget`，响应里的 `reasoning_content`',
      },
    },
    notes: [
      {
        en: 'Chat and embeddings use the compatible mode, which has the same models and keys. Reranking, images and audio use DashScope’s own API. The base URL may name either. Channels of type 49 use the same endpoints for these tasks.',
        zh: '聊天和向量使用兼容模式，模型和密钥相同。重排、图片和音频使用 DashScope 自己的接口。接口地址填哪一个都可以。类型 49 的渠道在这些任务上使用相同的接口。',
      },
      {
        en: 'Embedding more than ten texts takes several upstream requests (more than 25 with `text-embedding-v1` and `-v2`).',
        zh: '一次超过 10 段文本的向量请求会分成多个上游请求（`text-embedding-v1` 和 `-v2` 为 25 段）。',
      },
      {
        en: '`qwen-image…`, `z-image…` and `wan2.6` return images in the response. Other models create a task: Gatehouse polls it for at most ten minutes, and cancels it when the client disconnects. For clients that request bytes, images are downloaded only from `*.aliyuncs.com` and the channel’s own host.',
        zh: '`qwen-image…`、`z-image…` 和 `wan2.6` 直接在响应里返回图片。其他模型创建任务：网关轮询最多十分钟，客户端断开时取消。客户端要求图片数据时，只从 `*.aliyuncs.com` 和渠道自己的主机下载。',
      },
      {
        en: 'The models that return images directly also edit images, as does `wan2.5-i2i…` by a task. Images may be sent as files, in JSON or by URL. A mask, `input_fidelity` and other formats are rejected.',
        zh: '直接返回图片的模型也能编辑图片，`wan2.5-i2i…` 通过任务编辑。图片可以用文件、JSON 或网址发送。蒙版、`input_fidelity` 和其他格式会被拒绝。',
      },
      {
        en: 'Text-to-speech: `qwen-tts…` and `qwen3-tts…` produce `wav`; `cosyvoice-…` produces `mp3` (the default), `wav`, `pcm` or `opus`. Voices are Alibaba’s. Other formats are rejected, and for Qwen also `speed`. Models named `…realtime` are not supported, because they have only a WebSocket API.',
        zh: '语音合成：`qwen-tts…` 和 `qwen3-tts…` 生成 `wav`；`cosyvoice-…` 生成 `mp3`（默认）、`wav`、`pcm` 或 `opus`。音色是阿里云的。其他格式会被拒绝，Qwen 的 `speed` 也会。`…realtime` 模型只有 WebSocket 接口，不支持。',
      },
      {
        en: '`qwen3-asr-flash` transcribes to `json` or `text`. Timestamps, subtitles, speaker labels and `temperature` are rejected. Models that only accept the URL of a file (`…-filetrans`, Paraformer) are not supported.',
        zh: '`qwen3-asr-flash` 转写为 `json` 或 `text`。时间戳、字幕、说话人和 `temperature` 会被拒绝。只接受文件网址的模型（`…-filetrans`、Paraformer）不支持。',
      },
      {
        en: 'A model name that ends in `-internet` turns on web search; the suffix is removed before the request is sent.',
        zh: '模型名以 `-internet` 结尾时打开联网搜索，发送前去掉这个后缀。',
      },
      {
        en: 'The prefix `ali-` of `stable-diffusion…` is removed.',
        zh: '`stable-diffusion…` 前面的 `ali-` 会去掉。',
      },
      {
        en: 'A `top_p` of 1, which DashScope rejects, is sent as 0.9999. The role `developer` is sent as `system`.',
        zh: 'DashScope 不接受 `top_p` 为 1，改为 0.9999。`developer` 角色作为 `system` 发送。',
      },
      {
        en: 'Most models only reason in streams: Gatehouse requests a stream and assembles the whole response for clients that do not stream.',
        zh: '多数模型只在流式时思考：网关总是请求流，并为非流式的客户端组成完整的响应。',
      },
    ],
  },
})
