import { BEDROCK_ACCOUNT } from '../../../tools/fake-upstream/providers/bedrock/bedrock-checks.ts'
import { vertexCredentials } from '../../../tools/fake-upstream/providers/vertex-answers.ts'
import { aRoute, type RelaySetup } from './relay-setup.ts'

/** A channel for each provider with its own addresses, formats or signatures. */
export interface NativeChannel {
  label: string
  type: number
  key(upstream: string): string
  config: string
  /** A name that matches the provider's rules; tests append a number. */
  model: string
  /** Whether the provider supports forced tool calls. */
  demandsTools: boolean
}

const ACCOUNT = '0123456789abcdef0123456789abcdef'

const channel = (
  label: string,
  type: number,
  over: Partial<NativeChannel> = {},
): NativeChannel => ({
  label,
  type,
  key: () => 'sk-upstream',
  config: '',
  model: 'some-model',
  demandsTools: true,
  ...over,
})

const bedrockKey = (): string => {
  const { accessKeyId, secretKey, region } = BEDROCK_ACCOUNT
  return `${accessKeyId}|${secretKey}|${region}`
}

const vertexKey = (upstream: string): string =>
  `us-east5|our-project|${vertexCredentials(upstream)}`

export const nativeChannels: readonly NativeChannel[] = [
  channel('Ollama', 30, { model: 'llama3.2', demandsTools: false }),
  channel('Zhipu', 16, { model: 'glm-4.6', key: () => 'id.secretsecret' }),
  channel('DashScope', 17, { model: 'qwen-plus' }),
  channel('Cloudflare', 37, { model: '@cf/llama', config: JSON.stringify({ user_id: ACCOUNT }) }),
  channel('Cohere', 35, { model: 'command-a-03-2025' }),
  channel('Bedrock by Converse', 33, {
    model: 'us.amazon.nova-pro-v1:0',
    key: bedrockKey,
  }),
  channel('Claude on Bedrock', 33, {
    model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    key: bedrockKey,
  }),
  channel('Gemini on Vertex', 42, { model: 'gemini-2.0-flash', key: vertexKey }),
  channel('Claude on Vertex', 42, { model: 'claude-sonnet-4-5', key: vertexKey }),
  channel('Mistral on Vertex', 42, { model: 'mistralai/mistral-medium-3', key: vertexKey }),
  channel('Llama on Vertex', 42, { model: 'meta/llama-3.3-70b-instruct-maas', key: vertexKey }),
]

let lastModel = 0

/**
 * Creates a channel of this type with the required key and configuration. Returns its model, whose
 * name begins as given and ends with the words that control the upstream.
 */
export async function aNativeModel(
  setup: RelaySetup,
  { type, model }: Pick<NativeChannel, 'type' | 'model'>,
  { words = '', url = setup.upstream.url }: { words?: string; url?: string } = {},
): Promise<string> {
  const row = nativeChannels.find((native) => native.type === type)
  if (row === undefined) throw new Error(`no native channel of type ${type}`)
  lastModel += 1
  const name = `${model}-${lastModel}${words === '' ? '' : `+${words}`}`
  const key = row.key(setup.upstream.url)
  await aRoute(setup, name, { type, key, config: row.config, base_url: url })
  return name
}
