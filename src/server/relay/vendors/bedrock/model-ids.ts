/**
 * Model ids of Bedrock. Source: Amazon Bedrock user guide, "Models at a glance", the ids and
 * profiles on the page of each model, and "Model lifecycle".
 */

/** Claude's undated names, and aliases that Anthropic points to other models. */
const CLAUDE_ALIASES: Readonly<Record<string, string>> = {
  'claude-haiku-4-5': 'claude-haiku-4-5-20251001',
  'claude-sonnet-4-5': 'claude-sonnet-4-5-20250929',
  'claude-opus-4-5': 'claude-opus-4-5-20251101',
  'claude-opus-4-1': 'claude-opus-4-1-20250805',
  'claude-opus-4-0': 'claude-opus-4-20250514',
  'claude-sonnet-4-0': 'claude-sonnet-4-20250514',
  'claude-3-7-sonnet-latest': 'claude-3-7-sonnet-20250219',
  'claude-3-5-sonnet-latest': 'claude-3-5-sonnet-20241022',
  'claude-3-5-haiku-latest': 'claude-3-5-haiku-20241022',
  'claude-3-opus-latest': 'claude-3-opus-20240229',
}

/** Names of these models outside Bedrock, and in other gateways. */
const IDS: Readonly<Record<string, string>> = {
  'claude-instant-1.2': 'anthropic.claude-instant-v1',
  'claude-2.0': 'anthropic.claude-v2',
  'claude-2.1': 'anthropic.claude-v2:1',
  'claude-3-5-sonnet-20241022': 'anthropic.claude-3-5-sonnet-20241022-v2:0',
  'llama3-8b-8192': 'meta.llama3-8b-instruct-v1:0',
  'llama3-70b-8192': 'meta.llama3-70b-instruct-v1:0',
  'llama3-1-8b-128k': 'meta.llama3-1-8b-instruct-v1:0',
  'llama3-1-70b-128k': 'meta.llama3-1-70b-instruct-v1:0',
  'llama3-3-70b-128k': 'meta.llama3-3-70b-instruct-v1:0',
  'llama4-maverick-17b-1m': 'meta.llama4-maverick-17b-instruct-v1:0',
  'llama4-scout-17b-3.5m': 'meta.llama4-scout-17b-instruct-v1:0',
  'amazon-nova-micro': 'amazon.nova-micro-v1:0',
  'amazon-nova-lite': 'amazon.nova-lite-v1:0',
  'amazon-nova-pro': 'amazon.nova-pro-v1:0',
  'amazon-nova-2-lite': 'amazon.nova-2-lite-v1:0',
  'amazon-titan-embed-text': 'amazon.titan-embed-text-v1',
  'qwen3-235b': 'qwen.qwen3-235b-a22b-2507-v1:0',
  'qwen3-32b': 'qwen.qwen3-32b-v1:0',
  'qwen3-coder-30b': 'qwen.qwen3-coder-30b-a3b-v1:0',
  'qwen3-coder-480b': 'qwen.qwen3-coder-480b-a35b-v1:0',
  'ai21-jamba-1.5': 'ai21.jamba-1-5-large-v1:0',
  'deepseek-r1': 'deepseek.r1-v1:0',
  'deepseek-v3.1': 'deepseek.v3-v1:0',
  'mistral-7b': 'mistral.mistral-7b-instruct-v0:2',
  'mistral-7b-instruct': 'mistral.mistral-7b-instruct-v0:2',
  'mixtral-8x7b': 'mistral.mixtral-8x7b-instruct-v0:1',
  'mistral-8x7b-instruct': 'mistral.mixtral-8x7b-instruct-v0:1',
  'mistral-large': 'mistral.mistral-large-2402-v1:0',
  'mistral-large-2402': 'mistral.mistral-large-2402-v1:0',
  'mistral-small-2402': 'mistral.mistral-small-2402-v1:0',
  'mistral-pixtral-large-2502': 'mistral.pixtral-large-2502-v1:0',
  'gpt-oss-20b': 'openai.gpt-oss-20b-1:0',
  'gpt-oss-120b': 'openai.gpt-oss-120b-1:0',
  'gpt-oss-safeguard-20b': 'openai.gpt-oss-safeguard-20b',
  'gpt-oss-safeguard-120b': 'openai.gpt-oss-safeguard-120b',
  'palmyra-x4': 'writer.palmyra-x4-v1:0',
  'palmyra-x5': 'writer.palmyra-x5-v1:0',
  'palmyra-vision-7b': 'writer.palmyra-vision-7b',
}

/** Undated names need no version suffix, except this one. */
const FIRST_VERSIONS: ReadonlySet<string> = new Set(['claude-opus-4-6'])
const DATED_CLAUDE = /^claude-(?:.+)-\d{8}$/

/** A profile: the regions that it serves, its prefix, and the models that it does not have. */
type Profile = readonly [region: RegExp, prefix: string, without?: RegExp]

const AMERICA: Profile = [/^us-(?!gov-)/, 'us']
const GOVERNMENT: Profile = [/^us-gov-/, 'us-gov']
const EUROPE: Profile = [/^eu-/, 'eu']
const CONTINENTS = [AMERICA, GOVERNMENT, EUROPE, [/^ap-/, 'apac']] satisfies Profile[]

/**
 * Since Claude 4.5 there are profiles of the United States (including Canada), the European Union,
 * Japan and Australia. All other regions have only the global profile, which is also used if a
 * country's profile lacks the model. Source: Amazon Bedrock user guide, "Regional availability".
 */
const COUNTRIES = [
  AMERICA,
  GOVERNMENT,
  [/^ca-/, 'us'],
  [/^eu-/, 'eu', /fable/],
  [/^ap-northeast-[13]$/, 'jp', /fable|opus-4-[56]|(?:opus|sonnet)-5$|sonnet-5-5/],
  [/^ap-southeast-[24]$/, 'au', /fable|opus-4-5|nova/],
  [/^(?!cn-)/, 'global'],
] satisfies Profile[]

/** Models that need a profile, by id; all others are called directly. */
const PROFILES: readonly (readonly [models: RegExp, profiles: readonly Profile[]])[] = [
  [/^anthropic\.claude-3-5-sonnet-20241022/, [[/^ap-/, 'apac']]],
  [/^anthropic\.claude-(?:instant|v2|3-(?:haiku|sonnet|opus|5))/, []],
  [/^anthropic\.claude-[a-z]+-(?:4-[5-9]|[5-9])/, COUNTRIES],
  [/^anthropic\./, CONTINENTS],
  // Europe's profiles of this model and of the former ones exclude London.
  [/^amazon\.nova-2-lite/, [[/^eu-west-2$/, 'global'], ...COUNTRIES]],
  [/^amazon\.nova-/, [AMERICA, [/^eu-(?!west-2$)/, 'eu'], [/^il-/, 'eu'], [/^ap-/, 'apac']]],
  [/^mistral\.pixtral-large-/, [AMERICA, EUROPE]],
  [/^(?:meta\.llama(?:3-[13]|4)-|deepseek\.r1-|writer\.palmyra-x)/, [AMERICA]],
]

/** Bedrock ids, profiles and ARNs stay unchanged. */
export function modelId(name: string, region: string): string {
  const id = idOf(knownAs(CLAUDE_ALIASES, name) ?? name)
  if (id === null) return name
  const [, profiles = []] = PROFILES.find(([models]) => models.test(id)) ?? []
  const profile = profiles.find(
    ([regions, , without]) => regions.test(region) && without?.test(id) !== true,
  )
  return profile === undefined ? id : `${profile[1]}.${id}`
}

/** Null if the name is unknown. */
function idOf(name: string): string | null {
  const known = knownAs(IDS, name)
  if (known !== undefined) return known
  if (!name.startsWith('claude-')) return null
  const ending = DATED_CLAUDE.test(name) ? '-v1:0' : FIRST_VERSIONS.has(name) ? '-v1' : ''
  return `anthropic.${name}${ending}`
}

const knownAs = (names: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(names, name) ? names[name] : undefined
