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

/** DashScope takes no forms. */
const imageEditing: Provider = { ...usual, ofForm: formAsJson }
const transcribing: Provider = { ...usual, ofForm: recordingAsJson }

/** Bailian's channels use it, too, for everything that is not chat. */
export function dashscopeProvider(task: Task): Provider {
  if (task === 'imageEdits') return imageEditing
  return task === 'transcriptions' ? transcribing : usual
}

/** DashScope's own API and its compatible mode lie side by side. */
export const ALIBABA_PART =
  /^(https?:\/\/[^/]+\.aliyuncs\.com|.+(?=\/compatible-mode$))\/(?:compatible-mode|api(?:\/v\d+)?)$/i

export const alibabaRefusals: VendorRefusals = {
  hosts: /(?:^|\.)aliyuncs\.com$/,
  // Overdue payments come with 400. Spent tokens of a minute come with 429 and OpenAI's code for a
  // spent account. Source: Alibaba Cloud Model Studio, "Error messages".
  meaning({ code, type }) {
    if (code === 'Arrearage') return { status: 402 }
    const isThrottled = code === 'insufficient_quota' || type === 'insufficient_quota'
    return isThrottled ? { status: 429, word: 'rate_limit_exceeded' } : undefined
  },
}

const withinBudget = byBudget((tokens, { max = Infinity }) => (tokens <= max ? tokens : null))

export const alibabaTraits: UpstreamTraits = {
  // Other models cache by chance, and cost twice as much with marks. Source: Alibaba Cloud Model
  // Studio, "Context cache", "Explicit cache".
  cachesMarked: (model) => hasFeature(model, 'cache_marks'),
  // A budget beyond what a model can reason is refused; without one each reasons as far as it can.
  // Source: Alibaba Cloud Model Studio, "Deep thinking".
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
      thinking: '`enable_thinking` and `thinking_budget` in, `reasoning_content` out',
    },
    notes: [
      'Spoken with by the compatible mode, which answers for the same models with the same keys; ' +
        'rankings, pictures and sound by calls of its own beside it, whichever of the two the ' +
        'address names. Channels of type 49 are asked for these likewise.',
      'More than ten texts to embed (25 of the first two versions) go in several calls.',
      'Pictures of `qwen-image…`, `z-image…` and `wan2.6` come at once. The others are tasks, asked ' +
        'about for ten minutes at most and cancelled when nobody waits for them. Whoever wants bytes ' +
        'instead of addresses gets them from `*.aliyuncs.com` or the channel’s own host only.',
      'The models that draw at once change pictures, too, and so does `wan2.5-i2i…` by a task: sent ' +
        'as files, in JSON or by address. A mask, `input_fidelity` and other formats are refused.',
      '`qwen-tts…` and `qwen3-tts…` read aloud into `wav`, `cosyvoice-…` into `mp3` (unless it is said ' +
        'otherwise), `wav`, `pcm` or `opus`, with voices of Alibaba’s own. Other formats are refused, ' +
        'and by Qwen another `speed`. Models named `…realtime` have a WebSocket only.',
      '`qwen3-asr-flash` writes recordings down as `json` or `text`; times, subtitles, who speaks and ' +
        'a `temperature` are refused. Models that take addresses of files only (`…-filetrans`, ' +
        'Paraformer) are missing here.',
      'A model whose name ends in `-internet` is asked without that ending and searches the web.',
      '`ali-` before `stable-diffusion…` is left out.',
      '`top_p` of 1 becomes 0.9999, as 1 is refused, and the role `developer` `system`.',
      'Most models think in a stream only: it is asked for, and put together for who wants the whole.',
    ],
  },
})
