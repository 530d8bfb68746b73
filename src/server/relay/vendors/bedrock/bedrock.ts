import { composedKey, field } from '../../../../contract/channel-type-row.ts'
import { plainName } from '../../protocols/canonical/tool-calls.ts'
import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { statusInCode } from '../../protocols/dialect/error-body.ts'
import { formAsJson } from '../shared/image-form.ts'
import { YES, names, nativeVendor } from '../vendor.ts'
import { bedrockSeal, bedrockUrl, bedrockVia, claudeEdits, isClaude } from './address.ts'
import { bedrockEmbedding } from './embedding.ts'
import { imageRequestEdits } from './images.ts'
import { rankingEdits } from './ranking.ts'
import { ConverseStreamReader, readConverseAnswer } from './read-answer.ts'
import { claudeWire, converseWire } from './wires.ts'
import { CONVERSE_LACKS, writeConverseRequest } from './write-request.ts'

/**
 * A Bedrock API key, long-term (`ABSK…`) or short-term. Sources:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html; the short-term prefix is in
 * `aws/aws-bedrock-token-generator-js`.
 */
const BEDROCK_API_KEY = /^(?:ABSK|bedrock-api-key-)/

const asksForNoUsage = (): boolean => false

const converse: Provider = {
  dialect: {
    name: 'converse',
    writeRequest: writeConverseRequest,
    lacks: CONVERSE_LACKS,
    toolName: plainName,
    readAnswer: readConverseAnswer,
    readStream: () => new ConverseStreamReader(),
    statusOf: statusInCode,
    embedding: bedrockEmbedding,
  },
  url: bedrockUrl,
  headers: () => ({}),
  asksForUsage: asksForNoUsage,
  wire: converseWire,
  seal: bedrockSeal,
  via: bedrockVia,
}

const claude: Provider = { ...converse, dialect: 'anthropic', wire: claudeWire, edits: claudeEdits }

/** Images: requests are in OpenAI's format; edits and a walk convert them to each maker's. */
const images: Provider = {
  dialect: 'openai',
  url: bedrockUrl,
  headers: () => ({}),
  asksForUsage: asksForNoUsage,
  seal: bedrockSeal,
  via: bedrockVia,
  ofForm: formAsJson,
  edits: imageRequestEdits,
}

/** The response has the usual format of reranking, which is Cohere's. */
const reranking: Provider = { ...images, edits: rankingEdits }

function provider(model: string, task: Task): Provider {
  if (task === 'images' || task === 'imageEdits') return images
  if (task === 'rerank') return reranking
  return isClaude(model) ? claude : converse
}

export const bedrock = nativeVendor({
  type: 33,
  label: { zh: 'AWS', en: 'AWS Bedrock' },
  color: 'black',
  protocol: 'bedrock',
  key: { ...composedKey('ak', 'sk', 'region'), standsAlone: BEDROCK_API_KEY },
  baseUrlField: { mode: 'hidden' },
  fields: [
    field(
      'region',
      { zh: '区域（Region）', en: 'Region' },
      { required: true, placeholder: 'us-west-2' },
    ),
    field(
      'ak',
      { zh: '访问密钥 ID（AK）或 Bedrock API 密钥', en: 'Access key ID (AK) or Bedrock API key' },
      { required: true, secret: true, placeholder: 'AKIA…' },
    ),
    field(
      'sk',
      { zh: '访问密钥（SK）', en: 'Secret access key (SK)' },
      { required: true, secret: true },
    ),
  ],
  hiddenFields: ['key', 'batch'],
  notice: {
    zh: '模型名可以是模型 ID、推理配置文件、ARN 或 Claude 的公开名称；使用 Bedrock API 密钥时 SK 留空',
    en: 'A model is an id, profile or ARN, or a public name of Claude; a Bedrock API key has no SK',
  },
  modelVendor: 'amazon-bedrock',
  listPosition: 50,
  provider,
  traits: { servesClaude: true },
  refusals: {
    // Bedrock sends the error code in the header `x-amzn-errortype`. Source: Amazon Bedrock,
    // "Common errors" and "Troubleshooting".
    meaning({ code, message }) {
      if (/^(?:UnrecognizedClient|InvalidSignature|ExpiredToken)Exception$/.test(code)) {
        return { status: 401 }
      }
      return /^(?:The provided model identifier is invalid|Invocation of model ID \S+ with on-demand)/.test(
        message,
      )
        ? { status: 404 }
        : undefined
    },
  },
  models: names(`
    claude-3-haiku-20240307 claude-haiku-4-5 claude-haiku-4-5-20251001 claude-3-sonnet-20240229
    claude-3-5-sonnet-latest claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022
    claude-3-7-sonnet-latest claude-3-7-sonnet-20250219 claude-sonnet-4-0 claude-sonnet-4-20250514
    claude-sonnet-4-5 claude-sonnet-4-5-20250929 claude-sonnet-4-6 claude-sonnet-5 claude-opus-4-1
    claude-opus-4-1-20250805 claude-opus-4-5 claude-opus-4-5-20251101 claude-opus-4-6
    claude-opus-4-7 claude-opus-4-8 claude-opus-5 claude-fable-5 llama4-maverick-17b-1m
    llama4-scout-17b-3.5m llama3-3-70b-128k llama3-1-8b-128k llama3-1-70b-128k llama3-8b-8192
    llama3-70b-8192 amazon-nova-micro amazon-nova-lite amazon-nova-pro amazon-nova-2-lite
    amazon-titan-embed-text qwen3-235b qwen3-32b qwen3-coder-30b qwen3-coder-480b ai21-jamba-1.5
    deepseek-r1 deepseek-v3.1 mistral-7b-instruct mistral-8x7b-instruct mistral-large mistral-7b
    mixtral-8x7b mistral-small-2402 mistral-large-2402 mistral-pixtral-large-2502 gpt-oss-20b
    gpt-oss-120b gpt-oss-safeguard-120b gpt-oss-safeguard-20b palmyra-x4 palmyra-x5
    palmyra-vision-7b
  `),
  owner: 'aws',
  ownerRank: 101,
  priceLists: { rank: 220, modelsDev: ['amazon-bedrock'] },
  docs: {
    source:
      'Amazon Bedrock, API reference: Converse, ConverseStream, InvokeModel; user guides: Nova Canvas, ' +
      'Titan Image Generator, Stability AI models, Use a reranker model; AWS: Signature V4',
    chat: {
      images: { en: 'as data; also documents', zh: '以数据发送；文档也一样' },
      tools: YES,
      json: {
        en: 'with a schema, for models whose output Bedrock can constrain; without one it is requested by a sentence in the prompt',
        zh: '带 schema，限 Bedrock 能约束输出的模型；不带 schema 时要求写在提示里',
      },
      reasoning: {
        en: 'Claude as in Anthropic’s API; gpt-oss, Qwen3 and Nova 2 by effort',
        zh: 'Claude 与 Anthropic 的接口相同；gpt-oss、Qwen3 和 Nova 2 使用强度',
      },
      usage: {
        en: 'always, with cache reads and writes listed separately',
        zh: '总会给出，缓存的读取和写入单独列出',
      },
    },
    notes: [
      {
        en: 'Claude is called in Anthropic’s format (InvokeModel), all other models through Converse. Of the client’s `anthropic-beta` values, those that Amazon supports and the request uses are forwarded.',
        zh: 'Claude 用 Anthropic 的格式调用（InvokeModel），其他模型通过 Converse。客户端的 `anthropic-beta` 里，只转发 Amazon 支持而且请求用到的值。',
      },
      {
        en: 'A model is a Bedrock model id, an inference profile or an ARN. Claude’s public names and the names offered for a new channel are accepted too. These use the inference profile of the region’s continent if one exists. Claude 4.5 and later use the profile of the United States (and Canada), Europe, Japan or Australia, otherwise the global one.',
        zh: '模型可以是 Bedrock 的模型 ID、推理配置文件或 ARN，也可以是 Claude 的公开名称和新渠道预填的名称。后两种使用区域所在洲的推理配置文件（如果有）。Claude 4.5 及以后使用美国（和加拿大）、欧洲、日本或澳大利亚的配置文件，其他区域使用全球的。',
      },
      {
        en: 'Gatehouse verifies the checksums of every stream message.',
        zh: '网关校验流里每条消息的校验和。',
      },
      {
        en: 'Titan embeds one text per request: several texts are sent one after the other, at most 256. For Cohere, more than 96 texts take several upstream requests.',
        zh: 'Titan 每个请求只接受一段文本：多段文本依次发送，最多 256 段。Cohere 超过 96 段时分成多个上游请求。',
      },
      {
        en: '`amazon.nova-canvas-…` and `amazon.titan-image-generator-…` generate images; `hd` and `high` become their quality `premium`. Input images are used for variations (`IMAGE_VARIATION`) or, with `maskPrompt`, edited (`INPAINTING`); a mask image is rejected.',
        zh: '`amazon.nova-canvas-…` 和 `amazon.titan-image-generator-…` 生成图片；`hd` 和 `high` 对应它们的 `premium` 质量。发送的图片用于生成变体（`IMAGE_VARIATION`），有 `maskPrompt` 时用于编辑（`INPAINTING`）；蒙版图片会被拒绝。',
      },
      {
        en: '`stability.stable-image-core-…`, `…-ultra-…` and `stability.sd3…` generate one image per call in the nearest aspect ratio. Stability’s editing models are not supported.',
        zh: '`stability.stable-image-core-…`、`…-ultra-…` 和 `stability.sd3…` 每次生成一张图片，使用最接近的宽高比。不支持 Stability 的编辑模型。',
      },
      {
        en: '`cohere.rerank-…` and `amazon.rerank-…` rerank and are billed by search. Documents are texts, or objects with a text, and are not returned.',
        zh: '`cohere.rerank-…` 和 `amazon.rerank-…` 用于重排，按搜索次数计费。文档是文本，或带文本的对象，不会返回。',
      },
      {
        en: 'A document without a name, or with the name of another document, gets a number as its name.',
        zh: '没有名称或与其他文档同名的文档，用编号作为名称。',
      },
      {
        en: 'Converse cannot forbid tool calls: if no tool may be called but the conversation contains calls, these are sent as text.',
        zh: 'Converse 不能禁止调用工具：不允许调用工具而对话里有调用时，这些调用作为文字发送。',
      },
      {
        en: 'An Amazon Bedrock API key replaces the access key ID, without a secret access key; Gatehouse then stores `api_key|region`. Temporary AWS credentials with a session token are not supported, because they expire within hours.',
        zh: 'Amazon Bedrock 的 API 密钥填在 access key ID 处，不需要 secret access key；此时保存为 `api_key|region`。带 session token 的临时 AWS 凭证几小时就会过期，不支持。',
      },
    ],
  },
})
