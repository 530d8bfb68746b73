import { aiProxyLibrary } from './ai-proxy-library.ts'
import { anthropicCompatible } from './anthropic/anthropic-compatible.ts'
import { anthropic } from './anthropic/anthropic.ts'
import { azure } from './azure/azure.ts'
import { baichuan } from './baichuan.ts'
import { qianfanV2 } from './baidu/qianfan-v2.ts'
import { qianfan } from './baidu/qianfan.ts'
import { bailian } from './bailian/bailian.ts'
import { bedrock } from './bedrock/bedrock.ts'
import { cloudflare } from './cloudflare/cloudflare.ts'
import { cohere } from './cohere/cohere.ts'
import { coze } from './coze/coze.ts'
import { custom } from './custom.ts'
import { dashscope } from './dashscope/dashscope.ts'
import { deepl } from './deepl/deepl.ts'
import { deepseek } from './deepseek.ts'
import { fastGpt } from './fast-gpt.ts'
import { geminiOpenai } from './google/gemini-openai.ts'
import { gemini } from './google/gemini.ts'
import { groq } from './groq.ts'
import { lingyi } from './lingyi.ts'
import { minimax } from './minimax/minimax.ts'
import { mistral } from './mistral/mistral.ts'
import { moonshot } from './moonshot.ts'
import { novita } from './novita.ts'
import { ollama } from './ollama/ollama.ts'
import { openaiCompatible } from './openai-compatible.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { palm } from './palm.ts'
import { proxy } from './proxy.ts'
import { replicate } from './replicate/replicate.ts'
import {
  api2d,
  openaiSb,
  ohMyGpt,
  aiProxy,
  closeAi,
  openaiMax,
  aiLs,
  api2Gpt,
  aigc2d,
} from './resellers.ts'
import { siliconflow } from './siliconflow.ts'
import { sparkV2 } from './spark/spark-v2.ts'
import { spark } from './spark/spark.ts'
import { stepfun } from './stepfun.ts'
import { hunyuan } from './tencent/hunyuan.ts'
import { together } from './together.ts'
import { vertex } from './vertex/vertex.ts'
import { volcengineArk } from './volcengine-ark.ts'
import { xai } from './xai.ts'
import { zhinao } from './zhinao.ts'
import { zhipu } from './zhipu/zhipu.ts'
import type { Vendor } from './vendor.ts'

/** Written by `npm run vendors`, in the order of the console's list. */
export const vendors: readonly Vendor[] = [
  openai,
  openaiCompatible,
  anthropic,
  anthropicCompatible,
  bedrock,
  azure,
  palm,
  gemini,
  geminiOpenai,
  mistral,
  novita,
  volcengineArk,
  qianfan,
  qianfanV2,
  dashscope,
  bailian,
  spark,
  sparkV2,
  zhipu,
  zhinao,
  moonshot,
  hunyuan,
  baichuan,
  minimax,
  groq,
  ollama,
  lingyi,
  stepfun,
  coze,
  cohere,
  deepseek,
  cloudflare,
  deepl,
  together,
  vertex,
  proxy,
  siliconflow,
  xai,
  replicate,
  custom,
  fastGpt,
  aiProxyLibrary,
  openrouter,
  api2d,
  openaiSb,
  ohMyGpt,
  aiProxy,
  closeAi,
  openaiMax,
  aiLs,
  api2Gpt,
  aigc2d,
]
