import { listOf, objectOf, type Json } from '../call.ts'

/**
 * What Claude rejects on Amazon and Google but accepts in Anthropic's own API, as far as a
 * gateway's mistakes can cause it: betas, members and parts of members that are unknown there.
 */
export interface CloudCall {
  cloud: 'amazon' | 'google'
  model: string
  betas: readonly string[]
  json: Json
}

const BETAS: Record<CloudCall['cloud'], readonly string[]> = {
  amazon: [
    'interleaved-thinking-2025-05-14',
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'effort-2025-11-24',
    'tool-search-tool-2025-10-19',
    'tool-examples-2025-10-29',
    'fine-grained-tool-streaming-2025-05-14',
  ],
  google: [
    'interleaved-thinking-2025-05-14',
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'tool-search-tool-2025-10-19',
  ],
}

const MEMBERS = new Set(
  (
    'messages max_tokens system tools tool_choice temperature top_p top_k stop_sequences stream ' +
    'thinking metadata output_config'
  ).split(' '),
)
const TOOL_MEMBERS = new Set('type name description input_schema cache_control strict'.split(' '))
/** Members that require a beta. */
const BETA_MEMBERS: Record<string, string> = {
  context_management: 'context-management-2025-06-27',
  defer_loading: 'tool-search-tool-2025-10-19',
  input_examples: 'tool-examples-2025-10-29',
}

/** Reason for which a request is invalid; null if it is valid. */
export function cloudProblem(call: CloudCall): string | null {
  const { cloud, model, betas, json } = call
  const beta = betas.find((name) => !BETAS[cloud].includes(name))
  if (beta !== undefined) {
    return cloud === 'amazon'
      ? 'invalid beta flag'
      : `Unexpected value(s) \`${beta}\` for the \`anthropic-beta\` header.`
  }
  if (betas.includes('interleaved-thinking-2025-05-14') && !/(?:opus|sonnet)-4/.test(model)) {
    return 'invalid beta flag'
  }
  const hasEffort = objectOf(json.output_config).effort !== undefined
  if (hasEffort && /(?:sonnet|haiku)-4-5/.test(model)) return refusal('output_config.effort')
  return strangerIn(call) ?? editProblem(call) ?? markProblem(json)
}

const refusal = (name: string): string => `${name}: Extra inputs are not permitted`

function strangerIn({ betas, json }: CloudCall): string | null {
  const isKnown = (known: ReadonlySet<string>, name: string): boolean =>
    known.has(name) || betas.includes(BETA_MEMBERS[name] ?? '')
  const stranger = Object.keys(json).find((name) => !isKnown(MEMBERS, name))
  if (stranger !== undefined) return refusal(stranger)
  for (const [index, tool] of listOf(json.tools).map(objectOf).entries()) {
    const member = Object.keys(tool).find((name) => !isKnown(TOOL_MEMBERS, name))
    if (member !== undefined) return refusal(`tools.${index}.custom.${member}`)
  }
  return null
}

function editProblem({ cloud, json }: CloudCall): string | null {
  const edits = listOf(objectOf(json.context_management).edits).map(objectOf)
  const isOfThoughts = edits.some(({ type }) => type === 'clear_thinking_20251015')
  return cloud === 'amazon' && isOfThoughts ? refusal('context_management') : null
}

/** Cache marks must not have a scope there. */
function markProblem(json: Json): string | null {
  const messages = listOf(json.messages).map(objectOf)
  const blocks = messages.flatMap(({ content }) => listOf(content).map(objectOf))
  const inner = blocks.flatMap(({ content }) => listOf(content).map(objectOf))
  const marked = [...listOf(json.system), ...listOf(json.tools)].map(objectOf)
  return [...marked, ...blocks, ...inner].some(
    (block) => objectOf(block.cache_control).scope !== undefined,
  )
    ? refusal('cache_control.ephemeral.scope')
    : null
}
