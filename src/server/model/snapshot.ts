import type { Capabilities } from './capabilities.ts'
import { modelKey, withHyphens } from './model-key.ts'

/** The used part of models.dev, as stored in `model-data.json` and the `settings` table. */
export interface ModelData {
  source: string
  /** By `modelKey`. `limit` is the highest of all hosts, because hosts of open models differ. */
  models: Record<string, Capabilities>
  /** By vendor and `modelKey`: the members in which a model differs there. */
  vendors: Record<string, Record<string, Capabilities>>
}

/**
 * Providers of models.dev to read. The first one that has a model describes it, so makers come
 * before hosts.
 */
const PROVIDERS = [
  'openai',
  'anthropic',
  'google',
  'deepseek',
  'moonshotai-cn',
  'moonshotai',
  'zhipuai',
  'zai',
  'alibaba-cn',
  'alibaba',
  'minimax-cn',
  'minimax',
  'mistral',
  'xai',
  'cohere',
  'stepfun',
  'xiaomi',
  'perplexity',
  'upstage',
  'google-vertex',
  'google-vertex-anthropic',
  'azure',
  'amazon-bedrock',
  'groq',
  'openrouter',
  'togetherai',
  'siliconflow-cn',
  'siliconflow',
  'novita-ai',
  'cloudflare-workers-ai',
  'cerebras',
  'fireworks-ai',
  'ollama-cloud',
  'nvidia',
  'github-models',
  'huggingface',
  'modelscope',
  'inference',
  'deepinfra',
  'nebius',
  'vercel',
]

/** Sites of the same vendor with the same models; the first one that has a model counts. */
const OTHER_SITES: Readonly<Record<string, string>> = {
  moonshotai: 'moonshotai-cn',
  zai: 'zhipuai',
  alibaba: 'alibaba-cn',
  minimax: 'minimax-cn',
  'google-vertex-anthropic': 'google-vertex',
  siliconflow: 'siliconflow-cn',
}

/** Vendors of channel types (`vendors.ts`); only their differences are kept. */
export type IsReached = (provider: string) => boolean

type Members = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const recordOr = (value: unknown): Members => (isRecord(value) ? value : {})

/**
 * Reads models.dev's `api.json` (`{<provider>: {models}}`), or a snapshot with base models
 * (`{providers, models}`). Returns null if it is neither.
 */
export function readSnapshot(
  json: Members,
  source: string,
  isReached: IsReached,
): ModelData | null {
  const providers = isRecord(json.providers) ? json.providers : json
  const bases = recordOr(json.models)
  const data: ModelData = { source, models: {}, vendors: {} }
  const seen = new Set<string>()
  const spelled = new Map<string, string>()
  for (const provider of PROVIDERS) {
    for (const [id, sent] of Object.entries(recordOr(recordOr(providers[provider]).models))) {
      const name = modelKey(id)
      if (!isRecord(sent) || name === '') continue
      // Uses the maker's spelling, because hosts differ in dots and hyphens.
      const key = spelled.get(withHyphens(name)) ?? name
      spelled.set(withHyphens(key), key)
      const vendor = OTHER_SITES[provider] ?? provider
      const isFirst = !seen.has(`${vendor} ${key}`)
      seen.add(`${vendor} ${key}`)
      const differing = added(data.models, key, withBase(sent, bases))
      if (!isFirst || differing.length === 0 || !isReached(vendor)) continue
      const ofVendor = (data.vendors[vendor] ??= {})
      ofVendor[key] = Object.fromEntries(differing)
    }
  }
  return Object.keys(data.models).length === 0 ? null : data
}

function withBase(model: Members, bases: Members): Members {
  const base = recordOr(typeof model.base_model === 'string' ? bases[model.base_model] : undefined)
  const omitted = Array.isArray(model.base_model_omit) ? model.base_model_omit : []
  const kept = Object.entries(base).filter(([name]) => !omitted.includes(name))
  const limit = { ...recordOr(base.limit), ...recordOr(model.limit) }
  return { ...Object.fromEntries(kept), ...model, limit }
}

/** Adds a model, or raises the limits of an existing one. Returns the members that differ. */
function added(
  models: ModelData['models'],
  key: string,
  model: Members,
): [name: string, value: unknown][] {
  const { limit, ...members } = readMembers(model)
  const known = Object.hasOwn(models, key) ? models[key] : undefined
  if (known === undefined) {
    models[key] = { ...members, ...(limit === undefined ? {} : { limit }) }
    return []
  }
  const highest = highestLimit(known.limit, limit)
  if (highest !== undefined) known.limit = highest
  return Object.entries(members).filter(
    ([name, value]) => JSON.stringify(recordOr(known)[name]) !== JSON.stringify(value),
  )
}

const FLAGS = [
  'reasoning',
  'temperature',
  'tool_call',
  'structured_output',
  'open_weights',
] as const

function readMembers(model: Members): Capabilities {
  const read: Capabilities = {}
  for (const flag of FLAGS) {
    const value = model[flag]
    if (typeof value === 'boolean') read[flag] = value
  }
  if (Array.isArray(model.reasoning_options)) {
    read.reasoning_options = model.reasoning_options.flatMap(readOption)
  }
  const { interleaved } = model
  if (typeof interleaved === 'boolean') read.interleaved = interleaved
  const field = recordOr(interleaved).field
  // `reasoning_details` are a vendor's own objects, which the vendor's code sends back.
  if (typeof field === 'string' && field !== 'reasoning_details') read.interleaved = { field }
  const { input, output } = recordOr(model.modalities)
  if (Array.isArray(input) && Array.isArray(output)) {
    read.modalities = { input: input.map(String), output: output.map(String) }
  }
  const limit = readLimit(model)
  if (limit !== undefined) read.limit = limit
  return read
}

function readOption(sent: unknown): NonNullable<Capabilities['reasoning_options']> {
  const { type, values, min, max } = recordOr(sent)
  if (type === 'toggle') return [{ type }]
  if (type === 'effort' && Array.isArray(values)) return [{ type, values: values.map(String) }]
  if (type !== 'budget_tokens') return []
  return [{ type, ...amount('min', min), ...amount('max', max) }]
}

const amount = <Name extends string>(name: Name, value: unknown): Partial<Record<Name, number>> =>
  typeof value === 'number' && value > 0
    ? // The computed key is the only member.
      ({ [name]: value } as Partial<Record<Name, number>>)
    : {}

/**
 * Ignores the "output limit" of embedding models, which is a number of dimensions, and of models
 * without text output.
 */
function readLimit(model: Members): Capabilities['limit'] {
  const { context, input, output } = recordOr(model.limit)
  const { output: writes } = recordOr(model.modalities)
  const isText = !Array.isArray(writes) || writes.includes('text')
  const isEmbedding = /embed/.test(String(model.id ?? model.name ?? '').toLowerCase())
  const limit = {
    ...amount('context', context),
    ...amount('input', input),
    ...(isText && !isEmbedding ? amount('output', output) : {}),
  }
  return Object.keys(limit).length === 0 ? undefined : limit
}

function highestLimit(
  one: Capabilities['limit'],
  other: Capabilities['limit'],
): Capabilities['limit'] {
  const limits = { ...one }
  for (const name of ['context', 'input', 'output'] as const) {
    const highest = Math.max(one?.[name] ?? 0, other?.[name] ?? 0)
    if (highest > 0) limits[name] = highest
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}
