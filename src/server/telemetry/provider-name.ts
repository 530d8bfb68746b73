import { channelType } from '../../contract/channel-types.ts'

/**
 * Names of the GenAI semantic conventions that differ from those of models.dev. Source:
 * https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/
 */
const STANDARD_NAMES: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  'google-vertex': 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  'moonshotai-cn': 'moonshot_ai',
  xai: 'x_ai',
}

/** Returns `gen_ai.provider.name` of a channel type; `_OTHER` if its vendor is unknown. */
export function providerName(type: number): string {
  const { modelVendor = '_OTHER' } = channelType(type)
  return STANDARD_NAMES[modelVendor] ?? modelVendor
}
