import {
  allowedTools,
  type AssistantPart,
  type ChatRequest,
  type Effort,
  type MediaPart,
  type Message,
  type OutputFormat,
  type TextPart,
  type Thinking,
  type ThinkingPart,
  type Tool,
  type UserPart,
  familyOf,
} from '../canonical/chat-request.ts'
import { mediaType } from '../canonical/media.ts'
import { invalidField, missingField, unsupportedField, type Members } from '../canonical/reading.ts'
import { RequestNotes } from '../canonical/request-notes.ts'
import { dropHostedTool } from '../canonical/hosted-tools.ts'
import { hiddenThought, unwrapSignature } from '../canonical/signature.ts'
import { plainSearch, textsOption, type WebSearch } from '../canonical/web-search.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { geminiMembers, geminiObject, geminiObjects } from './names.ts'
import { jsonSchemaOf } from './schema.ts'

/**
 * Reads a generateContent request into the canonical form. Source: Gemini API reference,
 * "Generating content". Of Gemini's hosted tools, other dialects have web search; the rest
 * (`codeExecution`) are rejected.
 */
export function readGeminiRequest(body: JsonRecord, notes = new RequestNotes()): ChatRequest {
  const request = geminiMembers(body, '', notes)
  const config =
    geminiObject(request, 'generationConfig') ?? geminiMembers({}, 'generationConfig', notes)
  const system = geminiObject(request, 'systemInstruction')
  const declared = geminiObjects(request, 'tools')
  const search = declared.reduce<WebSearch | undefined>(
    (last, tool) => readSearch(tool) ?? last,
    undefined,
  )
  const read: ChatRequest = {
    spokenIn: 'gemini',
    notes,
    system: system === null ? [] : geminiObjects(system, 'parts').map(readText),
    messages: readContents(request),
    ...readToolChoice(request, declared.flatMap(readTools)),
    search,
    parallelTools: null,
    output: readFormat(config),
    maxCompletionTokens: config.count('maxOutputTokens') || null,
    stop: config.texts('stopSequences'),
    temperature: config.number('temperature'),
    topP: config.number('topP'),
    topK: config.count('topK'),
    presencePenalty: config.number('presencePenalty'),
    frequencyPenalty: config.number('frequencyPenalty'),
    seed: config.number('seed'),
    choices: config.count('candidateCount') ?? 1,
    thinking: readThinkingConfig(config),
    topLogprobs: readLogprobs(config),
    userId: null,
  }
  if (config.texts('responseModalities').some((modality) => !/^text$/i.test(modality))) {
    throw unsupportedField(config.place('responseModalities'))
  }
  // Members about the quality of media input, and of answers about elections.
  config.drop('mediaResolution', 'audioTimestamp', 'enableEnhancedCivicAnswers')
  config.done()
  dropSafety(request)
  ignoreHints(request)
  request.done()
  return read
}

/** Ignores members that do not change the answer, or only state the default. */
function ignoreHints(request: Members): void {
  request.ignore('model')
  request.reportDropped('labels')
  const tier = request.text('serviceTier')
  if (tier !== null && !/^(?:unspecified|standard)$/i.test(tier)) request.notes.drop('serviceTier')
  if (request.flag('store') === true) throw unsupportedField('store')
}

/** A filter that is off has no effect; other providers have filters of their own. */
function dropSafety(request: Members): void {
  for (const setting of geminiObjects(request, 'safetySettings')) {
    const threshold = setting.text('threshold') ?? 'OFF'
    if (!/^(OFF|BLOCK_NONE|HARM_BLOCK_THRESHOLD_UNSPECIFIED)$/.test(threshold)) {
      request.notes.drop('safetySettings')
    }
  }
}

function readLogprobs(config: Members): number | null {
  const top = config.count('logprobs')
  return config.flag('responseLogprobs') === true ? (top ?? 0) : null
}

const LEVELS: Readonly<Record<string, Effort>> = {
  MINIMAL: 'minimal',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
}

/** Reads the reasoning parameters of `thinkingConfig`. */
export function readThinkingConfig(config: Members): Thinking | null {
  const thinking = geminiObject(config, 'thinkingConfig')
  if (thinking === null) return null
  const level = thinking.text('thinkingLevel')
  const tokens = thinking.number('thinkingBudget')
  const isShown = thinking.flag('includeThoughts')
  thinking.done()
  const effort = level === null ? undefined : LEVELS[level.toUpperCase()]
  if (effort !== undefined) return { kind: 'effort', effort }
  if (tokens === 0) return { kind: 'off' }
  if (tokens !== null && tokens > 0) return { kind: 'budget', tokens }
  return tokens === null && isShown !== true ? null : { kind: 'adaptive' }
}

function readFormat(config: Members): OutputFormat | null {
  const type = config.text('responseMimeType')
  const older = config.record('responseSchema')
  const newer = config.record('responseJsonSchema') ?? config.record('_responseJsonSchema')
  const at = config.place(newer === null ? 'responseSchema' : 'responseJsonSchema')
  if (type === null || type === 'text/plain') {
    // Gemini rejects a schema for a format other than JSON.
    if (older === null && newer === null) return null
    const place = config.place('responseMimeType')
    throw type === null ? missingField(place) : invalidField(place)
  }
  if (type !== 'application/json') throw unsupportedField(config.place('responseMimeType'))
  const schema = newer ?? (older === null ? null : jsonSchemaOf(older))
  if (schema === null) return { kind: 'json' }
  return { kind: 'schema', name: 'answer', description: null, schema, isStrict: null, at }
}

/** Reads Google's search, which an empty object requests; undefined: another tool. */
function readSearch(tool: Members): WebSearch | undefined {
  const name = 'googleSearch'
  const sent = geminiObject(tool, name)
  if (sent === null) return undefined
  const search = plainSearch(name, tool.place(name))
  const types = geminiObject(sent, 'searchTypes')
  types?.ignore('webSearch')
  types?.done()
  const blockedDomains = textsOption(sent, 'excludeDomains')
  sent.done()
  return { ...search, blockedDomains }
}

function readTools(tool: Members): Tool[] {
  const tools = geminiObjects(tool, 'functionDeclarations').map((declared): Tool => {
    const older = declared.record('parameters')
    declared.ignore('response', 'responseJsonSchema', 'behavior')
    const read: Tool = {
      name: declared.textOrThrow('name'),
      description: declared.text('description'),
      schema: declared.record('parametersJsonSchema') ?? (older && jsonSchemaOf(older)),
      isStrict: null,
      cache: null,
    }
    declared.done()
    return read
  })
  // An empty object requests one of Google's tools.
  const [hosted] = tool.unreadNames()
  if (hosted !== undefined) dropHostedTool(tool.notes, hosted, tool.place(hosted))
  return tools
}

/** Modes other than `ANY` and `NONE` leave the choice to the model. */
const MODES: ReadonlySet<string> = new Set(['AUTO', 'ANY', 'MODE_UNSPECIFIED', 'NONE', 'VALIDATED'])

function readToolChoice(
  request: Members,
  tools: readonly Tool[],
): Pick<ChatRequest, 'tools' | 'toolChoice'> {
  const config = geminiObject(request, 'toolConfig')
  if (config === null) return { tools, toolChoice: null }
  const calling = geminiObject(config, 'functionCallingConfig')
  // Other vendors report their searches by the results.
  config.ignore('includeServerSideToolInvocations')
  // Place and language of the user, for searches.
  config.drop('retrievalConfig')
  config.done()
  if (calling === null) return { tools, toolChoice: null }
  const names = calling.texts('allowedFunctionNames')
  const sent = calling.text('mode') ?? 'AUTO'
  // A Vertex member about the delivery of calls, without an effect here.
  calling.ignore('streamFunctionCallArguments')
  calling.done()
  const mode = sent.toUpperCase()
  if (!MODES.has(mode)) throw invalidField(calling.place('mode'))
  const [name] = names
  if (mode === 'NONE') return { tools, toolChoice: { kind: 'none' } }
  if (mode === 'ANY' && names.length === 1 && name !== undefined) {
    return { tools, toolChoice: { kind: 'tool', name } }
  }
  const place = calling.place('allowedFunctionNames')
  return {
    tools: name === undefined ? tools : allowedTools(tools, names, place),
    toolChoice: { kind: mode === 'ANY' ? 'required' : 'auto' },
  }
}

/**
 * Calls without a result yet: this dialect joins calls and results by name and order, others by id.
 */
interface OpenCall {
  id: string
  name: string
}

function readContents(request: Members): Message[] {
  const open: OpenCall[] = []
  let calls = 0
  return geminiObjects(request, 'contents').map((content): Message => {
    const role = content.text('role') ?? 'user'
    const parts = geminiObjects(content, 'parts')
    content.done()
    if (role === 'model') {
      const read = parts.map((part) => readModelPart(part, open, `call_${(calls += 1)}`))
      return { role: 'assistant', parts: joined(read) }
    }
    if (role !== 'user' && role !== 'function') throw invalidField(content.place('role'))
    return { role: 'user', parts: parts.map((part) => readUserPart(part, open)) }
  })
}

/**
 * Joins the parts of a turn that was streamed: adjacent texts become one text, and the last part of
 * a thought has its signature.
 */
function joined(parts: readonly AssistantPart[]): AssistantPart[] {
  const whole: AssistantPart[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    if (part.kind === 'text' && last?.kind === 'text') {
      whole.splice(-1, 1, { ...part, text: last.text + part.text })
    } else if (part.kind === 'thinking' && isOpenThought(last) && part.redacted === null) {
      whole.splice(-1, 1, { ...part, text: last.text + part.text })
    } else {
      whole.push(part)
    }
  }
  return whole
}

/** Whether more of the thought may follow, because it has no signature yet. */
const isOpenThought = (part: AssistantPart | undefined): part is ThinkingPart =>
  part?.kind === 'thinking' && part.signature === null && part.redacted === null

function readModelPart(part: Members, open: OpenCall[], ownId: string): AssistantPart {
  const called = geminiObject(part, 'functionCall')
  const seal = part.text('thoughtSignature')
  const signature = seal ? unwrapSignature(seal, 'gemini') : null
  if (called !== null) {
    const name = called.textOrThrow('name')
    const id = called.text('id') ?? ownId
    open.push({ id, name })
    const argumentsJson = JSON.stringify(called.record('args') ?? {})
    part.done()
    return { kind: 'toolCall', id, name, argumentsJson, signature, cache: null }
  }
  if (part.flag('thought') === true) {
    const text = part.text('text') ?? ''
    const redacted = hiddenThought(signature)
    return { kind: 'thinking', text, signature: redacted === null ? signature : null, redacted }
  }
  return readPlain(part)
}

function readUserPart(part: Members, open: OpenCall[]): UserPart {
  const response = geminiObject(part, 'functionResponse')
  if (response === null) return readPlain(part)
  const name = response.textOrThrow('name')
  const given = response.text('id')
  const at = open.findIndex((call) => (given === null ? call.name === name : call.id === given))
  const [call] = at < 0 ? [] : open.splice(at, 1)
  const id = call?.id ?? given
  if (id === null) throw invalidField(response.at)
  const answer = response.record('response') ?? {}
  const media = geminiObjects(response, 'parts').map(readPlain)
  // `scheduling` controls when a model that continues meanwhile gets the result; here the model
  // always waits.
  response.ignore('scheduling', 'willContinue')
  response.done()
  part.ignore('thoughtSignature')
  part.done()
  return {
    kind: 'toolResult',
    callId: id,
    name,
    parts: [{ kind: 'text', text: resultText(answer), cache: null }, ...media],
    isError: Object.keys(answer).length === 1 && 'error' in answer,
    cache: null,
  }
}

/** Returns the text of a result that is a single text under one of the usual names. */
function resultText(answer: JsonRecord): string {
  const [only, ...others] = Object.entries(answer)
  const isBare =
    others.length === 0 && only !== undefined && /^(result|output|error)$/.test(only[0])
  if (isBare && typeof only[1] === 'string') return only[1]
  return JSON.stringify(answer)
}

function readText(part: Members): TextPart {
  // A part of an unknown kind is rejected by its own name.
  const [kind] = part.unreadNames().filter((name) => !OF_ANY_PART.has(name))
  if (kind !== undefined) throw unsupportedField(part.place(kind))
  const read: TextPart = { kind: 'text', text: part.textOrThrow('text'), cache: null }
  part.ignore('thought', 'thoughtSignature')
  part.done()
  return read
}

const OF_ANY_PART: ReadonlySet<string> = new Set(['text', 'thought', 'thoughtSignature'])

function readPlain(part: Members): TextPart | MediaPart {
  const inline = geminiObject(part, 'inlineData')
  const file = geminiObject(part, 'fileData')
  part.ignore('partMetadata')
  part.drop('mediaResolution', 'mediaProcessing')
  if (inline === null && file === null) return readText(part)
  part.ignore('thought', 'thoughtSignature')
  part.done()
  const base = { kind: 'media' as const, at: part.at, detail: null, title: null, cache: null }
  if (inline !== null) {
    const mimeType = mediaType(inline.textOrThrow('mimeType'))
    const data = inline.textOrThrow('data')
    const title = inline.text('displayName')
    inline.done()
    if (!/^text\/plain(?:;|$)/.test(mimeType)) {
      return { ...base, title, source: { from: 'data', mimeType, data } }
    }
    const text = Buffer.from(data, 'base64').toString('utf8')
    return { ...base, title, source: { from: 'text', text } }
  }
  if (file === null) throw invalidField(part.at)
  const mimeType = file.text('mimeType')
  const family = mimeType === null ? 'image' : familyOf(mimeType)
  const url = file.textOrThrow('fileUri')
  const title = file.text('displayName')
  file.done()
  return { ...base, title, source: { from: 'url', url, mimeType, family } }
}
