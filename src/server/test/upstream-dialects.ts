import { dialects, responsesDialect } from '../relay/conversion/dialects.ts'
import type { UpstreamDialect } from '../relay/protocols/dialect/dialect.ts'
import { qianfan } from '../relay/vendors/baidu/qianfan.ts'
import { bedrock } from '../relay/vendors/bedrock/bedrock.ts'
import { cohere } from '../relay/vendors/cohere/cohere.ts'
import { coze } from '../relay/vendors/coze/coze.ts'
import { deepl } from '../relay/vendors/deepl/deepl.ts'
import { ollama } from '../relay/vendors/ollama/ollama.ts'
import { replicate } from '../relay/vendors/replicate/replicate.ts'
import { spark } from '../relay/vendors/spark/spark.ts'
import { hunyuan } from '../relay/vendors/tencent/hunyuan.ts'
import type { Vendor } from '../relay/vendors/vendor.ts'

function ownDialect({ provider, type }: Vendor): UpstreamDialect {
  const chats = typeof provider === 'function' ? provider('model', 'chat', {}) : provider
  if (chats === null || typeof chats.dialect === 'string') throw new Error(`type ${type} has none`)
  return chats.dialect
}

/** All dialects of upstreams. */
export const upstreamDialects = {
  ...dialects,
  responses: responsesDialect,
  baidu: ownDialect(qianfan),
  cohere: ownDialect(cohere),
  converse: ownDialect(bedrock),
  coze: ownDialect(coze),
  deepl: ownDialect(deepl),
  ollama: ownDialect(ollama),
  replicate: ownDialect(replicate),
  spark: ownDialect(spark),
  tencent: ownDialect(hunyuan),
} satisfies Record<string, UpstreamDialect>

export type UpstreamName = keyof typeof upstreamDialects
