import { jsonAnswer, type Answer } from '../../answer.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../../call.ts'
import { anthropicAnswer } from '../../dialects/anthropic-answers.ts'
import { produceNative, textsOf, type NativeProduced } from '../../dialects/native-wishes.ts'
import { bedrockErrorAnswer, signatureProblem } from './bedrock-checks.ts'
import { bedrockMediaAnswer } from './bedrock-media.ts'
import { cloudProblem } from '../../dialects/claude-cloud-checks.ts'
import { claudeLayout, converseLayout } from '../layouts.ts'

const PROMPT_TOKENS = 11
const MEMBERS = new Set(
  (
    'messages system inferenceConfig toolConfig additionalModelRequestFields guardrailConfig ' +
    'outputConfig performanceConfig requestMetadata'
  ).split(' '),
)
const CONFIG = new Set('maxTokens temperature topP stopSequences'.split(' '))

const invalid = (message: string): Answer => bedrockErrorAnswer(400, 'ValidationException', message)

/** `POST /model/{id}/converse` and `…/converse-stream`. */
export function converseAnswer(call: Call): Answer {
  const refusal = signatureProblem(call)
  if (refusal !== null) return refusal
  const problem = problemOf(call.json)
  if (problem !== null) return invalid(problem)
  const produced = produceNative(call, wishesOf(call.json))
  const { toolCalls, pieces } = produced
  const usage = usageOf(call, produced)
  const stopReason = stopReasonOf(produced)
  if (call.path.endsWith('-stream') && call.directives.trouble !== 'json-when-stream') {
    return { kind: 'stream', events: eventsOf(produced, stopReason, usage), layout: converseLayout }
  }
  const blocks: Json[] = toolCalls.map(({ id, function: { name, arguments: given } }) => ({
    toolUse: { toolUseId: id, name, input: parsed(given) },
  }))
  const content = blocks.length > 0 ? blocks : [{ text: pieces.join('') }]
  const output = { message: { role: 'assistant', content } }
  return jsonAnswer({ output, stopReason, ...usage, metrics: { latencyMs: 5 } })
}

/** `POST /model/{id}/invoke[-with-response-stream]`: Anthropic's dialect, and embeddings. */
export function invokeAnswer(call: Call): Answer {
  const refusal = signatureProblem(call)
  if (refusal !== null) return refusal
  const { json, model } = call
  if (/titan-embed/.test(model)) {
    if (typeof json.inputText !== 'string') return invalid('#: required key [inputText] not found')
    const count = call.directives.promptTokens ?? 2
    return jsonAnswer({ embedding: [0.5, -0.25, 0], inputTextTokenCount: count })
  }
  if (/cohere\.embed/.test(model)) return cohereVectors(json)
  const media = bedrockMediaAnswer(call)
  if (media !== null) return media
  if (json.anthropic_version !== 'bedrock-2023-05-31') {
    return invalid('anthropic_version: Field required')
  }
  if ('model' in json || 'stream' in json) return invalid('extraneous key is not permitted')
  const isStream = call.path.endsWith('-stream')
  const { anthropic_version: _version, anthropic_beta: betas, ...rest } = json
  const problem = cloudProblem({ cloud: 'amazon', model, betas: textsOf(betas), json: rest })
  if (problem !== null) return invalid(problem)
  const answer = anthropicAnswer({
    ...call,
    headers: {
      'x-api-key': 'checked',
      'anthropic-version': 'checked',
      ...(betas === undefined ? {} : { 'anthropic-beta': 'some' }),
    },
    json: { ...rest, model, ...(isStream ? { stream: true } : {}) },
  })
  return answer.kind === 'stream' ? { ...answer, layout: claudeLayout } : answer
}

const COHERE_TEXTS_MAX = 96

/** The token count is only in a header. */
function cohereVectors({ texts, input_type: use }: Json): Answer {
  if (use === undefined) return invalid('#: required key [input_type] not found')
  if (listOf(texts).length > COHERE_TEXTS_MAX) return invalid('#/texts: expected maximum of 96')
  const embeddings = listOf(texts).map((_text, index) => [0.5, -0.25, index])
  const head = { id: 'fixed', response_type: 'embeddings_floats', texts }
  return jsonAnswer({ ...head, embeddings })
}

function problemOf(json: Json): string | null {
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return `extraneous key [${stranger}] is not permitted`
  const option = Object.keys(objectOf(json.inferenceConfig)).find((name) => !CONFIG.has(name))
  if (option !== undefined) return `extraneous key [inferenceConfig.${option}] is not permitted`
  let before: unknown = 'assistant'
  for (const message of listOf(json.messages).map(objectOf)) {
    if (message.role === before) return 'A conversation must alternate between user and assistant'
    before = message.role
    const blocks = listOf(message.content).map(objectOf)
    if (blocks.length === 0) return 'The content field is empty'
    if (blocks.some(({ text }) => text === '')) return 'The text field is blank'
    const hasTools = blocks.some(({ toolUse, toolResult }) => toolUse ?? toolResult)
    if (hasTools && json.toolConfig === undefined) return 'The toolConfig field must be defined'
    const hasText = blocks.some(({ text }) => text !== undefined)
    if (!hasText && documentsIn(blocks).length > 0) {
      return 'A text block must be included when using documents.'
    }
  }
  return documentProblem(json) ?? outputProblem(json)
}

const documentsIn = (blocks: readonly Json[]): Json[] =>
  blocks.flatMap(({ document }) => (document === undefined ? [] : [objectOf(document)]))

/** Tool results may contain documents too. */
function documentProblem({ messages }: Json): string | null {
  const blocks = listOf(messages).flatMap((message) =>
    listOf(objectOf(message).content).map(objectOf),
  )
  const inResults = blocks.flatMap(({ toolResult }) =>
    listOf(objectOf(toolResult).content).map(objectOf),
  )
  const names = documentsIn([...blocks, ...inResults]).map(({ name }) => textOf(name) ?? '')
  const wrong = names.find((name) => !/^(?! )(?:[\w()[\]-]| (?! )){1,200}(?<! )$/.test(name))
  if (wrong !== undefined) return `the document name ${wrong} is not allowed`
  const isTwice = new Set(names).size < names.length
  return isTwice ? "Messages can't contain duplicate document names." : null
}

/** The requested schema of the response, nested as a text. */
function schemaIn({ outputConfig }: Json): string | null {
  const { structure } = objectOf(objectOf(outputConfig).textFormat)
  return textOf(objectOf(objectOf(structure).jsonSchema).schema) ?? null
}

function outputProblem(json: Json): string | null {
  if (json.outputConfig === undefined) return null
  const { type } = objectOf(objectOf(json.outputConfig).textFormat)
  const schema = schemaIn(json)
  if (type !== 'json_schema' || schema === null) return 'outputConfig.textFormat is not valid'
  const { type: kind, additionalProperties } = objectOf(parsed(schema))
  return kind === 'object' && additionalProperties !== false
    ? "For 'object' type, 'additionalProperties' must be explicitly set to false"
    : null
}

function wishesOf(json: Json) {
  const config = objectOf(json.toolConfig)
  const choice = objectOf(config.toolChoice)
  const last = objectOf(listOf(json.messages).at(-1))
  const inference = objectOf(json.inferenceConfig)
  const schema = schemaIn(json)
  const said = listOf(last.content).map((block) => textOf(objectOf(block).text) ?? '')
  return {
    tools: listOf(config.tools).flatMap((tool) => {
      const { name, inputSchema } = objectOf(objectOf(tool).toolSpec)
      return name === undefined ? [] : [{ name, parameters: objectOf(objectOf(inputSchema).json) }]
    }),
    choice: textOf(objectOf(choice.tool).name) ?? (choice.any === undefined ? null : 'required'),
    lastWords: last.role === 'user' ? said.join(' ') : '',
    schema: schema === null ? null : objectOf(parsed(schema)),
    wantsJson: false,
    maxTokens: inference.maxTokens,
    stops: textsOf(inference.stopSequences),
  }
}

function stopReasonOf({ stopSequence, finishReason }: NativeProduced): string {
  if (stopSequence !== null) return 'stop_sequence'
  return { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }[finishReason]
}

function eventsOf({ toolCalls, pieces }: NativeProduced, stopReason: string, usage: Json) {
  const text = pieces.map((piece) =>
    event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: piece } }),
  )
  const calls = toolCalls.flatMap(({ id, function: { name, arguments: given } }, index) => {
    const middle = Math.ceil(given.length / 2)
    return [
      event('contentBlockStart', {
        contentBlockIndex: index,
        start: { toolUse: { toolUseId: id, name } },
      }),
      ...[given.slice(0, middle), given.slice(middle)].map((input) =>
        event('contentBlockDelta', { contentBlockIndex: index, delta: { toolUse: { input } } }),
      ),
      event('contentBlockStop', { contentBlockIndex: index }),
    ]
  })
  return [
    event('messageStart', { role: 'assistant' }),
    ...(calls.length > 0 ? calls : [...text, event('contentBlockStop', { contentBlockIndex: 0 })]),
    event('messageStop', { stopReason }),
    event('metadata', { ...usage, metrics: { latencyMs: 5 } }),
  ]
}

/** Each event is padded so that its length reveals nothing. */
const event = (name: string, payload: Json) => ({
  name,
  data: JSON.stringify({ ...payload, p: 'abcdefgh' }),
})

function usageOf({ directives }: Call, { completionTokens }: NativeProduced): Json {
  if (directives.usage === 'never') return {}
  const inputTokens = directives.promptTokens ?? PROMPT_TOKENS
  return {
    usage: {
      inputTokens,
      outputTokens: completionTokens,
      totalTokens: inputTokens + completionTokens,
      cacheReadInputTokens: directives.cachedTokens,
      cacheWriteInputTokens: directives.cacheWriteTokens,
    },
  }
}

const parsed = (text: string): unknown => JSON.parse(text)
