import { describe, expect, test } from 'vitest'
import { channelType } from '../../../contract/channel-types.ts'
import { movesOf, typeHere, type Relative } from './channel-type.ts'

/** The relatives' own names of their types, beside what takes their channels here. */

const CUSTOM = 'Custom'

/**
 * Channel types that One API numbered before any related program branched off; all programs keep
 * these numbers.
 */
const SHARED: [number, string, string][] = [
  [0, 'Unknown', 'Unknown'],
  [1, 'OpenAI', 'OpenAI'],
  [3, 'Azure', 'Azure OpenAI'],
  [6, 'OpenAIMax', 'Proxy: OpenAI Max'],
  [7, 'OhMyGPT', 'Proxy: OhMyGPT'],
  [8, 'Custom', CUSTOM],
  [9, 'AILS', 'Proxy: AI.LS'],
  [10, 'AIProxy', 'Proxy: AI Proxy'],
  [11, 'PaLM', 'Google PaLM 2'],
  [12, 'API2GPT', 'Proxy: API2GPT'],
  [13, 'AIGC2D', 'Proxy: AIGC2D'],
  [14, 'Anthropic', 'Anthropic Claude'],
  [15, 'Baidu', 'Baidu Qianfan'],
  [16, 'Zhipu', 'Zhipu GLM'],
  [17, 'Ali', 'Alibaba DashScope'],
  [18, 'Xunfei', 'iFlytek Spark'],
  [19, '360', '360 Zhinao'],
  [20, 'OpenRouter', 'OpenRouter'],
  [21, 'AIProxyLibrary', 'Knowledge base: AI Proxy'],
  [22, 'FastGPT', 'Knowledge base: FastGPT'],
  [23, 'Tencent', 'Tencent Hunyuan'],
]

const TYPES: Record<Relative, [number, string, string][]> = {
  // https://github.com/QuantumNous/new-api/blob/main/constant/channel.go
  'New API': [
    ...SHARED,
    [4, 'Ollama', 'Ollama'],
    [24, 'Gemini', 'Google Gemini'],
    [25, 'Moonshot', 'Moonshot AI'],
    [26, 'Zhipu_v4', 'Zhipu GLM'],
    [27, 'Perplexity', 'OpenAI compatible'],
    [31, 'LingYiWanWu', '01.AI'],
    [33, 'Aws', 'AWS Bedrock'],
    [34, 'Cohere', 'Cohere'],
    [35, 'MiniMax', 'MiniMax'],
    [38, 'Jina', CUSTOM],
    [39, 'Cloudflare', 'Cloudflare Workers AI'],
    [40, 'SiliconFlow', 'SiliconFlow'],
    [41, 'VertexAi', 'Google Vertex AI'],
    [42, 'Mistral', 'Mistral AI'],
    [43, 'DeepSeek', 'DeepSeek'],
    [45, 'VolcEngine', 'Volcengine Ark'],
    [46, 'BaiduV2', 'Baidu Qianfan V2'],
    [47, 'Xinference', CUSTOM],
    [48, 'Xai', 'xAI'],
    [49, 'Coze', 'Coze'],
    [53, 'Submodel', CUSTOM],
    [56, 'Replicate', 'Replicate'],
  ],
  // https://github.com/MartialBE/one-hub/blob/main/common/config/constants.go
  'One Hub': [
    ...SHARED,
    [2, 'API2D', 'Proxy: API2D'],
    [4, 'CloseAI', 'Proxy: CloseAI'],
    [5, 'OpenAISB', 'Proxy: OpenAI-SB'],
    [25, 'Gemini', 'Google Gemini'],
    [26, 'Baichuan', 'Baichuan'],
    [27, 'MiniMax', 'MiniMax'],
    [28, 'Deepseek', 'DeepSeek'],
    [29, 'Moonshot', 'Moonshot AI'],
    [30, 'Mistral', 'Mistral AI'],
    [31, 'Groq', 'Groq'],
    [32, 'Bedrock', 'AWS Bedrock'],
    [33, 'Lingyi', '01.AI'],
    [35, 'CloudflareAI', 'Cloudflare Workers AI'],
    [36, 'Cohere', 'Cohere'],
    [38, 'Coze', 'Coze'],
    [39, 'Ollama', 'Ollama'],
    [40, 'Hunyuan', 'Tencent Hunyuan'],
    [42, 'VertexAI', 'Google Vertex AI'],
    [45, 'Siliconflow', 'SiliconFlow'],
    [47, 'Jina', CUSTOM],
    [52, 'Replicate', 'Replicate'],
    [56, 'XAI', 'xAI'],
  ],
}

describe.each(['New API', 'One Hub'] as const)('channels of %s', (relative) => {
  test.each(TYPES[relative])('of its type %i, %s, become %s', (type, _name, here) => {
    expect(channelType(typeHere(relative, type)).label.en).toBe(here)
  })

  test('of any other type have no counterpart', () => {
    const known = new Set(TYPES[relative].map(([type]) => type))
    const others = Array.from({ length: 130 }, (_, type) => ({ type })).filter(
      ({ type }) => !known.has(type),
    )
    expect(movesOf(relative, others)).toEqual(
      others.map((channel) => ({ from: channel.type, to: null, channels: [channel] })),
    )
  })

  /**
   * Our type has another key format or address, so no request may be sent before an admin has
   * checked it.
   */
  test('that an admin has to check are named', () => {
    const all = TYPES[relative].map(([type]) => ({ type }))
    const named = movesOf(relative, all).filter(({ to }) => to?.isIncomplete)
    expect(named.map(({ from }) => from)).toEqual(
      { 'New API': [8, 39, 41, 49], 'One Hub': [32, 35, 38, 40, 42] }[relative],
    )
  })
})

test.each([
  ['New API', 27, 'https://api.perplexity.ai'],
  ['New API', 38, 'https://api.jina.ai'],
  ['New API', 49, 'https://api.coze.cn'],
  ['New API', 53, 'https://llm.submodel.ai'],
  ['One Hub', 47, 'https://api.jina.ai'],
] as const)('channels of %s of type %i without an address go to %s', (relative, type, address) => {
  expect(movesOf(relative, [{ type }])).toMatchObject([{ to: { address } }])
})
