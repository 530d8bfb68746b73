import { jsonAnswer, type Answer } from '../answer.ts'
import { listOf, objectOf, type Call, type Json } from '../call.ts'
import { boundProblem, isOfLatest, rememberPrefix } from './bound-thoughts.ts'
import { schemaProblem } from './schema-checks.ts'

/**
 * What Anthropic rejects, as far as a gateway's mistakes can cause it: headers, unknown members,
 * turns and blocks out of order. Messages are approximate, statuses and types exact.
 */
export function anthropicErrorAnswer(status: number, message: string): Answer {
  const error = { type: TYPES[status] ?? 'api_error', message }
  return jsonAnswer({ type: 'error', error, request_id: 'req_fixed' }, status)
}

const TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

const MEMBERS = new Set(
  (
    'model messages max_tokens system tools tool_choice temperature top_p top_k stop_sequences ' +
    'stream thinking metadata output_config service_tier cache_control container'
  ).split(' '),
)
const BLOCKS = new Set(
  (
    'text image document tool_use tool_result thinking redacted_thinking server_tool_use ' +
    'web_search_tool_result search_result'
  ).split(' '),
)

/** Error for an invalid request; null if it is valid. */
export function checkedMessages(call: Call, { isCount = false } = {}): Answer | null {
  const { headers, json } = call
  if (!headers['x-api-key']) return anthropicErrorAnswer(401, 'x-api-key header is required')
  if (!headers['anthropic-version']) {
    return anthropicErrorAnswer(400, 'anthropic-version: header is required')
  }
  const problem = problemOf(json, isCount, headers['anthropic-beta'] !== undefined)
  return problem === null ? null : anthropicErrorAnswer(400, problem)
}

function problemOf(json: Json, isCount: boolean, isBeta: boolean): string | null {
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined && !isBeta) return `${stranger}: Extra inputs are not permitted`
  if (typeof json.model !== 'string') return 'model: Field required'
  if (!isCount && typeof json.max_tokens !== 'number') return 'max_tokens: Field required'
  if (isOfLatest(json.model)) {
    if (['any', 'tool'].includes(String(objectOf(json.tool_choice).type))) {
      return 'tool_choice: type "tool" and "any" are not supported for this model.'
    }
    const bound = boundProblem(json)
    if (bound !== null) return bound
    rememberPrefix(json)
  }
  const schema = schemaProblem(json)
  if (schema !== null) return schema
  const thinking = objectOf(json.thinking)
  if (typeof thinking.budget_tokens === 'number' && !isCount) {
    const limit = Number(json.max_tokens)
    if (thinking.budget_tokens < 1024) return 'thinking.budget_tokens: at least 1024'
    if (thinking.budget_tokens >= limit) return '`max_tokens` must exceed the thinking budget'
  }
  const sent = listOf(json.messages).map(objectOf)
  const messages = sent.filter(({ role }) => role !== 'system')
  if (thinking.type === 'enabled') {
    const problem = thinkingProblem(json, messages)
    if (problem !== null) return problem
  }
  const tools = listOf(json.tools).map(objectOf)
  if (tools.some(({ name }) => !PLAIN.test(String(name)))) return 'tools.name: pattern'
  if (messages.length === 0) return 'messages: at least one message is required'
  const change = changeProblem(sent, tools, isBeta)
  if (change !== null) return change
  if (sent[0]?.role !== 'user') return 'messages: first message must use the "user" role'
  if (messages.at(-1)?.role === 'assistant' && NO_PREFILL.test(json.model)) {
    return (
      'This model does not support assistant message prefill. The conversation must end with a ' +
      'user message.'
    )
  }
  return (
    messages.map((message, at) => messageProblem(message, messages[at - 1], at)).find(Boolean) ??
    null
  )
}

/** Claude since 4.6. */
const NO_PREFILL = /claude-[a-z]+-(?:4-[6-9]|[5-9])(?!\d)/

const PLAIN = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Parameters that thinking excludes, and the thinking block with which a turn with tool calls must
 * begin.
 */
function thinkingProblem(json: Json, messages: Json[]): string | null {
  if ((json.temperature ?? 1) !== 1) return '`temperature` may only be set to 1 with thinking'
  if (['any', 'tool'].includes(String(objectOf(json.tool_choice).type))) {
    return 'Thinking may not be enabled when tool_choice forces tool use.'
  }
  const [open, results] = messages.slice(-2)
  const [result] = listOf(results?.content).map(objectOf)
  const [first] = listOf(open?.content).map(objectOf)
  if (result?.type !== 'tool_result' || String(first?.type).includes('thinking')) return null
  return `Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first?.type)}\``
}

/** Checks the content of system messages, and the tools that they name. */
function changeProblem(messages: Json[], tools: Json[], isBeta: boolean): string | null {
  const known = new Set(tools.map(({ name }) => name))
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'system') continue
    const where = `messages.${at}`
    const beta = ['clear_at', 'output_config'].find((name) => message[name] !== undefined)
    if (beta !== undefined && !isBeta) return `${where}.${beta}: Extra inputs are not permitted`
    for (const block of listOf(message.content).map(objectOf)) {
      if (block.type === 'text') continue
      const isChange = block.type === 'tool_addition' || block.type === 'tool_removal'
      if (!isChange || !isBeta) return `${where}: unknown block ${String(block.type)}`
      const { type, name, definition } = objectOf(block.tool)
      if (type === 'tool_definition') known.add(objectOf(definition).name)
      else if (!known.has(name)) return `${where}: tool reference ${String(name)} not found`
    }
  }
  return null
}

function messageProblem(message: Json, before: Json | undefined, at: number): string | null {
  const where = `messages.${at}`
  if (message.role === before?.role) return `${where}: roles must alternate`
  if (typeof message.content === 'string') {
    if (message.content === '') return `${where}: content must not be empty`
    return resultProblem([], before, where)
  }
  const blocks = listOf(message.content).map(objectOf)
  if (blocks.length === 0) return `${where}: content must not be empty`
  for (const block of blocks) {
    if (!BLOCKS.has(String(block.type))) return `${where}: unknown block ${String(block.type)}`
    if (block.type === 'tool_use' && !PLAIN.test(String(block.id))) {
      return `${where}: tool_use.id: String should match pattern`
    }
    if (block.type === 'text' && String(block.text).trim() === '') {
      return `${where}: text content blocks must be non-empty`
    }
    if (block.type === 'thinking' && typeof block.signature !== 'string') {
      return `${where}: thinking.signature: Field required`
    }
  }
  return resultProblem(blocks, before, where)
}

/**
 * Each result belongs to a call of the previous turn; each call has a result, before other content.
 */
function resultProblem(blocks: Json[], before: Json | undefined, where: string): string | null {
  const calls = listOf(before?.content)
    .map(objectOf)
    .filter(({ type }) => type === 'tool_use')
    .map(({ id }) => id)
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const stray = results.find(({ tool_use_id: id }) => !calls.includes(id))
  if (stray !== undefined) return `${where}: unexpected tool_use_id ${String(stray.tool_use_id)}`
  const answered = results.map(({ tool_use_id: id }) => id)
  const open = calls.find((id) => !answered.includes(id))
  if (open !== undefined) return `${where}: tool_use ${String(open)} without tool_result`
  const isFirst = blocks.slice(0, results.length).every(({ type }) => type === 'tool_result')
  return isFirst ? null : `${where}: tool_result blocks come first`
}
