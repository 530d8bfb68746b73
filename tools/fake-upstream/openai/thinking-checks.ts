import { jsonAnswer, type Answer } from '../answer.ts'
import { listOf, objectOf, type Call, type Json } from '../call.ts'

/** Checks of OpenAI for its models since gpt-5.4; other models here accept anything. */
const MODELS = /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9])(?!.*-chat)/

/** Encrypted reasoning of these models, which must be returned unchanged. */
export const OPENAI_SEAL = 'gAAAAAc2VhbC1vZi1vcGVuYWk='

const refused = (message: string, param: string, code: string | null = null): Answer =>
  jsonAnswer({ error: { message, type: 'invalid_request_error', param, code } }, 400)

/** Models whose reasoning cannot be turned off. */
const ALWAYS_THINKS = /^(?:o\d|gpt-5(?![.\d]))/
/** Models that reason only if requested; later ones reason by default. */
const THINKS_WHEN_TOLD = /^gpt-5\.[1-4](?!\d)/

function isThinking(model: string, effort: unknown): boolean {
  if (ALWAYS_THINKS.test(model)) return true
  return effort === undefined ? !THINKS_WHEN_TOLD.test(model) : effort !== 'none'
}

/** Models that do not support chat completions. */
const NO_CHAT = /^gpt-5[\d.]*-(?:codex|pro)/

/** Reasoning models: while they reason, they reject sampling parameters. */
const THINKS = /^(?:o\d|gpt-(?:5(?!-chat)|[6-9]))/
const FIGURES = ['top_p', 'presence_penalty', 'frequency_penalty']

function samplingProblem({ model, json }: Call): Answer | null {
  if (!THINKS.test(model) || !isThinking(model, json.reasoning_effort ?? undefined)) return null
  if ((json.temperature ?? 1) !== 1) {
    const value = JSON.stringify(json.temperature)
    return refused(
      `Unsupported value: 'temperature' does not support ${value} with this model. Only the ` +
        'default (1) value is supported.',
      'temperature',
      'unsupported_value',
    )
  }
  const figure = FIGURES.find((name) => name in json)
  return figure === undefined
    ? null
    : refused(
        `Unsupported parameter: '${figure}' is not supported with this model.`,
        figure,
        'unsupported_parameter',
      )
}

/** In chat completions they call functions only without reasoning. */
export function chatProblem(call: Call): Answer | null {
  const { model, json } = call
  if (NO_CHAT.test(model)) {
    const message = 'This model is only supported in v1/responses and not in v1/chat/completions.'
    const error = { message, type: 'invalid_request_error', param: 'model', code: null }
    return jsonAnswer({ error }, 404)
  }
  const sampling = samplingProblem(call)
  if (sampling !== null) return sampling
  const hasTools = listOf(json.tools).length > 0
  if (!MODELS.test(model) || !hasTools || !isThinking(model, json.reasoning_effort)) return null
  const message =
    `Function tools with reasoning_effort are not supported for ${model} in ` +
    "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
  return refused(message, 'reasoning_effort')
}

const MEMBERS = new Set(
  (
    'model input instructions tools tool_choice parallel_tool_calls max_output_tokens ' +
    'max_tool_calls temperature top_p reasoning text store include stream user metadata ' +
    'safety_identifier prompt_cache_key previous_response_id truncation service_tier background ' +
    'access_programs client_metadata context_management conversation image moderation prompt ' +
    'prompt_cache_options prompt_cache_retention stream_options top_logprobs'
  ).split(' '),
)

/** Error of the Responses API for these models; null for a valid request. */
export function responsesProblem({ model, json }: Call): Answer | null {
  if (!MODELS.test(model)) return null
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return refused(`Unknown parameter: '${stranger}'.`, stranger)
  const thinks = isThinking(model, objectOf(json.reasoning).effort)
  const sampling = ['temperature', 'top_p'].find((name) => thinks && name in json)
  if (sampling !== undefined) {
    return refused(
      `Unsupported parameter: '${sampling}' is not supported with this model.`,
      sampling,
    )
  }
  return inputProblem(listOf(json.input).map(objectOf), json.store !== false)
}

function inputProblem(items: Json[], isStored: boolean): Answer | null {
  const calls = new Set<unknown>()
  for (const [index, item] of items.entries()) {
    const place = `input[${index}]`
    if (item.type === 'function_call') calls.add(item.call_id)
    if (item.type === 'function_call_output' && !calls.has(item.call_id)) {
      return refused(`No tool call found for function call output ${place}.`, 'input')
    }
    if (item.type !== 'reasoning') continue
    // A stored reasoning item is found by its id.
    const isFound = isStored && item.encrypted_content === undefined && item.id === THOUGHT_ID
    if (!isFound && item.encrypted_content !== OPENAI_SEAL) {
      const message = 'The encrypted content could not be verified.'
      return refused(message, place, 'invalid_encrypted_content')
    }
    const after = items[index + 1]
    const isFollowed = after?.type === 'function_call' || after?.role === 'assistant'
    if (!isFollowed) {
      const message = `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`
      return refused(message, 'input')
    }
  }
  return null
}

/** Reasoning item of the response, if any, with its encrypted content if nothing is stored. */
export function thoughtItem({ model, json }: Call): Json | null {
  const { effort, summary } = objectOf(json.reasoning)
  if (!MODELS.test(model) || !isThinking(model, effort)) return null
  const isSealed = listOf(json.include).includes('reasoning.encrypted_content')
  return {
    type: 'reasoning',
    id: THOUGHT_ID,
    summary: summary === undefined ? [] : [{ type: 'summary_text', text: THOUGHTS.join('') }],
    ...(isSealed ? { encrypted_content: OPENAI_SEAL } : {}),
  }
}

const THOUGHT_ID = 'rs_fixed'
export const THOUGHTS = ['Six times ', 'seven.']
