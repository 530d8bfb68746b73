import { composedKey, field } from '../../../../contract/channel-type-row.ts'
import { plainName } from '../../protocols/canonical/tool-calls.ts'
import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { statusInCode } from '../../protocols/dialect/error-body.ts'
import { formAsJson } from '../shared/image-form.ts'
import { names, nativeVendor } from '../vendor.ts'
import { bedrockSeal, bedrockUrl, bedrockVia, claudeEdits, isClaude } from './address.ts'
import { bedrockEmbedding } from './embedding.ts'
import { imageRequestEdits } from './images.ts'
import { rankingEdits } from './ranking.ts'
import { ConverseStreamReader, readConverseAnswer } from './read-answer.ts'
import { claudeWire, converseWire } from './wires.ts'
import { CONVERSE_LACKS, writeConverseRequest } from './write-request.ts'

/** A Bedrock API key, long-term or short-term. Sources: AWS's IAM; its `bedrock-token-generator`. */
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

/** In OpenAI's dialect; edits and a walk convert it to the format of each maker. */
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
    // The code is the name in its header. Source: Amazon Bedrock, "Common errors" and
    // "Troubleshooting".
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
      pictures: 'as data; documents likewise',
      tools: 'yes',
      json: 'by a schema, of models that Bedrock holds to one; without one it is asked for in words',
      thinking: 'of Claude as Anthropic has it; of gpt-oss, Qwen3 and Nova 2 by effort',
      usage: 'always; cache reads and writes apart',
    },
    notes: [
      'Claude is invoked in Anthropic’s own words, all other models by Converse. Of the betas that ' +
        'clients name those go along that Amazon knows and the request makes use of.',
      'A model is an id of Bedrock’s, an inference profile, or an ARN. Claude’s public names and ' +
        'those of the models that a channel is offered are understood too. They are reached by the ' +
        'profile of the region’s continent where they have one; Claude from 4.5 on by that of the ' +
        'United States (and Canada), Europe, Japan or Australia, else by the global one.',
      'The checksums of every message of a stream are verified.',
      'Titan embeds one text a call: several are asked for one after the other, 256 at most. ' +
        'More than 96 for Cohere go in several calls.',
      '`amazon.nova-canvas-…` and `amazon.titan-image-generator-…` draw; `hd` and `high` are their ' +
        '`premium`. Pictures that are sent are drawn anew after them (`IMAGE_VARIATION`), or changed ' +
        'where `maskPrompt` says (`INPAINTING`); a mask as a picture is refused. ' +
        '`stability.stable-image-core-…`, `…-ultra-…` and `stability.sd3…` draw one picture a call in ' +
        'the nearest shape; the models of Stability that change pictures are missing here.',
      '`cohere.rerank-…` and `amazon.rerank-…` rank, sold by the search; documents are texts, or ' +
        'objects with one, and are not given back.',
      'A document without a name, or with that of another, gets a number.',
      'If no tool may be called but the conversation contains calls, they are sent as text, ' +
        'because Converse cannot express it.',
      'An API key of Bedrock takes the place of the access key ID, without a secret access key; ' +
        'what is stored is then `api_key|region`. Temporary keys of AWS, which need a session token ' +
        'and end within hours, are not taken.',
    ],
  },
})
