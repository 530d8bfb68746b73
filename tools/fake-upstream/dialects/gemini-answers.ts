import { bytesAnswer, jsonAnswer, range, type Answer, type StreamEvent } from '../answer.ts'
import { countOf, listOf, objectOf, type Call, type Json } from '../call.ts'
import { vectorOf } from '../other-answers.ts'
import { geminiMediaAnswer } from './gemini-media.ts'
import { answerId } from '../script.ts'
import { produceNative, textsOf, wordsOf, type NativeProduced } from './native-wishes.ts'

const PROMPT_TOKENS = 11
const EMBEDDING_DIMENSIONS = 8
export const GEMINI_SEAL = 'c2VhbC1vZi1nZW1pbmk='

const STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

export function geminiErrorAnswer(code: number, message: string, details?: Json[]): Answer {
  return jsonAnswer(
    { error: { code, message, status: STATUSES[code] ?? 'UNKNOWN', details } },
    code,
  )
}

/** `POST …:generateContent` and `…:streamGenerateContent`: the Gemini dialect. */
export function geminiAnswer(call: Call): Answer {
  const problem = problemOf(call)
  if (problem !== null) return problem
  const media = geminiMediaAnswer(call, (message) => geminiErrorAnswer(400, message))
  if (media !== null) return media
  const produced = produceNative(call, wishesOf(call.json))
  const { trouble, alwaysStreams } = call.directives
  const isAsked = /:stream/i.test(call.path) || alwaysStreams
  const isStream = isAsked && trouble !== 'json-when-stream'
  const events = responsesOf(call, produced, isStream)
  if (!isStream) return jsonAnswer(events[0])
  if (alwaysStreams || call.query.get('alt') === 'sse') {
    return { kind: 'stream', events: events.map(dataOf) }
  }
  const body = `[${events.map((event) => JSON.stringify(event)).join('\n,\r\n')}\n]`
  return bytesAnswer('application/json; charset=UTF-8', body)
}

const dataOf = (event: Json): StreamEvent => ({ data: JSON.stringify(event) })

/** `POST …:countTokens`. */
export function geminiCountAnswer(call: Call): Answer {
  return (
    keyProblem(call) ??
    jsonAnswer({
      totalTokens: call.directives.promptTokens ?? PROMPT_TOKENS,
      promptTokensDetails: [],
    })
  )
}

const BATCH_MAX = 100

/** `POST …:embedContent` and `…:batchEmbedContents`. */
export function geminiEmbeddingAnswer(call: Call): Answer {
  const problem = keyProblem(call)
  if (problem !== null) return problem
  const embed = (request: Json) => {
    const size = countOf(request.outputDimensionality) ?? EMBEDDING_DIMENSIONS
    return { values: vectorOf(wordsOf(objectOf(request.content).parts), size) }
  }
  if (call.path.endsWith(':embedContent')) return jsonAnswer({ embedding: embed(call.json) })
  const requests = listOf(call.json.requests).map(objectOf)
  if (requests.length > BATCH_MAX) {
    return geminiErrorAnswer(400, 'at most 100 requests can be in one batch')
  }
  const other = requests.find(({ model }) => model !== `models/${call.model}`)
  if (other !== undefined) return geminiErrorAnswer(400, 'requests[].model must match the path')
  const { promptTokens } = call.directives
  const usage = promptTokens === null ? {} : { usageMetadata: { promptTokenCount: promptTokens } }
  return jsonAnswer({ embeddings: requests.map(embed), ...usage })
}

function keyProblem(call: Call): Answer | null {
  const key = call.headers['x-goog-api-key'] ?? call.query.get('key')
  return key ? null : geminiErrorAnswer(403, 'Method does not allow unregistered callers')
}

const MEMBERS = new Set(
  (
    'contents systemInstruction system_instruction tools toolConfig tool_config safetySettings ' +
    'generationConfig generation_config cachedContent model labels'
  ).split(' '),
)

const NO_PREFILL = /gemini-(?:3\.[6-9]|3\.5-flash-lite)/

/** Rejects what Gemini rejects, as far as a gateway's mistakes can cause it. */
function problemOf(call: Call): Answer | null {
  const { json } = call
  const refuse = (message: string) => geminiErrorAnswer(400, message)
  const problem = keyProblem(call)
  if (problem !== null) return problem
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return refuse(`Unknown name "${stranger}": Cannot find field.`)
  const contents = listOf(json.contents).map(objectOf)
  if (contents.length === 0) return refuse('contents is not specified')
  for (const { role, parts } of contents) {
    if (role !== undefined && role !== 'user' && role !== 'model') {
      return refuse('Please use a valid role: user, model.')
    }
    if (listOf(parts).length === 0) return refuse('contents.parts must not be empty.')
    for (const part of listOf(parts).map(objectOf)) {
      if (Object.keys(part).length === 0) return refuse('required oneof field data must be set')
      const { mimeType } = objectOf(part.inlineData ?? part.inline_data)
      if (mimeType === 'image/jpg') return refuse('Unsupported MIME type: image/jpg')
    }
  }
  if (contents.at(-1)?.role === 'model' && NO_PREFILL.test(call.model)) {
    return refuse('Requests ending with a model turn are not supported.')
  }
  return turnProblem(contents, call.model)
}

const partsWith = (content: Json | undefined, name: string): Json[] =>
  listOf(content?.parts)
    .map(objectOf)
    .filter((part) => name in part)

/**
 * Every call has its response in the next turn, and from Gemini 3 on the first call has a
 * signature.
 */
function turnProblem(contents: Json[], model: string): Answer | null {
  for (const [at, content] of contents.entries()) {
    const calls = partsWith(content, 'functionCall')
    if (calls.length === 0) continue
    const answers = partsWith(contents[at + 1], 'functionResponse')
    if (answers.length !== calls.length) {
      return geminiErrorAnswer(400, 'the number of function response parts must equal the calls')
    }
    if (/gemini-3/.test(model) && calls[0]?.thoughtSignature === undefined) {
      return geminiErrorAnswer(400, 'Function call is missing a thought_signature')
    }
  }
  return null
}

function wishesOf(json: Json) {
  const config = objectOf(json.generationConfig ?? json.generation_config)
  const calling = objectOf(objectOf(json.toolConfig ?? json.tool_config).functionCallingConfig)
  const last = objectOf(listOf(json.contents).at(-1))
  const declared = listOf(json.tools).flatMap((tool) =>
    listOf(objectOf(tool).functionDeclarations).map(objectOf),
  )
  const words: Record<string, string> = { ANY: 'required', NONE: 'none' }
  const schema = config.responseJsonSchema ?? config.responseSchema
  return {
    tools: declared.map((tool) => ({
      name: tool.name,
      parameters: lowered(objectOf(tool.parametersJsonSchema ?? tool.parameters)),
    })),
    choice: textsOf(calling.allowedFunctionNames)[0] ?? words[String(calling.mode)] ?? null,
    lastWords: last.role === 'model' ? '' : wordsOf(last.parts),
    schema: schema === undefined ? null : lowered(objectOf(schema)),
    wantsJson: config.responseMimeType === 'application/json',
    maxTokens: config.maxOutputTokens,
    stops: textsOf(config.stopSequences),
  }
}

/** Types may be in upper case. */
function lowered(schema: Json): Json {
  const text = JSON.stringify(schema)
  return objectOf(parsed(text.replace(/"type":"([A-Z]+)"/g, (all) => all.toLowerCase())))
}

const parsed = (text: string): unknown => JSON.parse(text)

function responsesOf(call: Call, produced: NativeProduced, isStream: boolean): Json[] {
  const { pieces, toolCalls, finishReason } = produced
  const thinking = objectOf(objectOf(call.json.generationConfig).thinkingConfig)
  const isShown = thinking.includeThoughts === true
  const thoughts = isShown ? [{ text: 'Six times seven.', thought: true }] : []
  const calls = toolCalls.map(({ function: { name, arguments: text } }, index) => ({
    functionCall: { name, args: parsed(text) },
    ...(index === 0 ? { thoughtSignature: GEMINI_SEAL } : {}),
  }))
  const texts = calls.length > 0 ? [] : pieces.map((text) => ({ text }))
  const parts = isStream ? [...thoughts, ...texts] : [...thoughts, ...wholeText(texts)]
  const indexes = range(countOf(objectOf(call.json.generationConfig).candidateCount) ?? 1)
  const { completionTokens } = produced
  const response = (content: Json[], end: Json, tokens = completionTokens): Json => ({
    candidates: indexes.map((index) => ({
      content: { role: 'model', parts: content },
      ...end,
      index,
    })),
    ...usageOf(call, tokens),
    modelVersion: call.model,
    responseId: answerId(call, 'resp-'),
  })
  const end = { finishReason: finishReason === 'length' ? 'MAX_TOKENS' : 'STOP' }
  if (!isStream) return [response([...parts, ...calls], end)]
  // Parallel calls are sent in one event.
  const groups = [...parts.map((part) => [part]), ...(calls.length > 0 ? [calls] : [])]
  // Each event contains the total so far.
  return groups.map((group, index) => {
    const place = index + 1
    const sofar = Math.floor((completionTokens * place) / groups.length)
    return response(group, place === groups.length ? end : {}, sofar)
  })
}

const wholeText = (texts: { text: string }[]): Json[] =>
  texts.length === 0 ? [] : [{ text: texts.map(({ text }) => text).join('') }]

function usageOf(call: Call, completionTokens: number): Json {
  const { cachedTokens, promptTokens, reasoningTokens, usage, usageShape } = call.directives
  if (usage === 'never') return {}
  const prompt = promptTokens ?? PROMPT_TOKENS + cachedTokens
  return {
    usageMetadata: {
      promptTokenCount: usageShape === 'negative' ? -prompt : prompt,
      candidatesTokenCount: completionTokens,
      totalTokenCount: prompt + completionTokens + reasoningTokens,
      ...(cachedTokens > 0 ? { cachedContentTokenCount: cachedTokens } : {}),
      ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
    },
  }
}
