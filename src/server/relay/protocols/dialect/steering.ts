import { type ChatRequest, isThoughtOptional } from '../canonical/chat-request.ts'
import { isAskedFor } from '../canonical/reading.ts'
import { memberRange, memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import {
  adjustField,
  dropField,
  fieldName,
  OPENAI_NAMES,
  type OpenaiOnlyField,
} from './field-names.ts'

/**
 * Parameters that steer how an answer is made and that some upstreams do not have. A dialect or a
 * provider lists those that it does not have as `lacks`; they are left out with a note. The lists
 * are shown in `docs/manual/en/providers/`.
 */
export type Steering =
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'stop'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'thinking'
  | 'userId'
  /** Only clients of OpenAI's chat send these. */
  | OpenaiOnlyField

/** Values that equal the default behaviour. */
const isUsual = {
  temperature: (value: number | null) => value === null || value === 1,
  topP: (value: number | null) => value === null || value === 1,
  topK: (value: number | null) => value === null || value === 0,
  seed: (value: number | null) => value === null,
  presencePenalty: (value: number | null) => value === null || value === 0,
  frequencyPenalty: (value: number | null) => value === null || value === 0,
} as const

type Figure = keyof typeof isUsual

const isFigure = (field: Steering): field is Figure => Object.hasOwn(isUsual, field)

/**
 * Returns the request without the parameters that the upstream lacks; those with an effect are
 * noted.
 */
export function withoutLacking(request: ChatRequest, lacks: readonly Steering[]): ChatRequest {
  return lacks.reduce(withoutField, request)
}

function withoutField(request: ChatRequest, field: Steering): ChatRequest {
  if (isFigure(field)) {
    if (!isUsual[field](request[field])) dropField(request, field)
    return { ...request, [field]: null }
  }
  switch (field) {
    case 'stop':
      request.notes.cutAt(request.stop)
      return { ...request, stop: [] }
    case 'thinking':
      dropThinking(request)
      return { ...request, thinking: null }
    case 'userId':
      if (request.userId !== null) request.notes.reportDropped(fieldName(request, 'userId'))
      return { ...request, userId: null }
    default:
      // Readers have already left out parameters without a canonical field.
      return request
  }
}

/**
 * Notes that a model does not reason. "Do not reason" is its normal behaviour, and clients that
 * cannot leave the parameter out are not rejected even if the call is strict.
 */
export function dropThinking(request: ChatRequest): void {
  const { thinking, notes } = request
  if (thinking === null || thinking.kind === 'off') return
  if (isThoughtOptional(request)) notes.reportDropped(fieldName(request, 'thinking'))
  else dropField(request, 'thinking')
}

/**
 * Notes that reasoning is set to the minimum for a model that cannot turn it off. Clients of
 * Anthropic turn reasoning off by default, so the request is not rejected even if the call is
 * strict.
 */
export function adjustThinking(request: ChatRequest): void {
  const { spokenIn, notes } = request
  if (spokenIn === 'anthropic') notes.reportAdjusted(fieldName(request, 'thinking'))
  else adjustField(request, 'thinking')
}

/**
 * Notes sampling parameters that a model does not accept, except those with the default value.
 * Clients send them with every model, so they are left out even if the call is strict.
 */
export function reportSampling(request: ChatRequest, fields: readonly Figure[]): void {
  for (const field of fields) {
    if (!isUsual[field](request[field])) request.notes.reportDropped(fieldName(request, field))
  }
}

/** Edits that remove the members of OpenAI's chat that the upstream lacks. */
export function lackingEdits(
  body: ScannedBody,
  lacks: readonly Steering[],
  notes: RequestNotes,
): MemberEdit[] {
  const sent = lacks
    .flatMap((field) => OPENAI_NAMES[field])
    .filter((name) => memberRange(body, name) !== null)
  for (const name of sent.filter((one) => isAskedFor(memberValue(body, one)))) {
    if (NAMES_OF_USERS.has(name)) notes.reportDropped(name)
    else notes.drop(name)
  }
  return sent.map((name) => ({ remove: name }))
}

const NAMES_OF_USERS: ReadonlySet<string> = new Set(OPENAI_NAMES.userId)

/**
 * Stop texts that an upstream accepts; the relay itself cuts at longer ones and those beyond
 * `count`.
 */
export function fittingStops(
  request: ChatRequest,
  { count, length = Infinity }: { count: number; length?: number },
): readonly string[] {
  const fitting = request.stop.filter((text) => text.length <= length).slice(0, count)
  request.notes.cutAt(request.stop.filter((text) => !fitting.includes(text)))
  return fitting
}

/** The temperature, at most `max`. */
export function cappedTemperature(request: ChatRequest, max: number): number | null {
  const { temperature } = request
  if (temperature === null || temperature <= max) return temperature
  adjustField(request, 'temperature')
  return max
}

/** Whether the client requires a tool call. */
export const isForced = ({ tools, toolChoice, search }: ChatRequest): boolean =>
  search?.isForced === true ||
  (tools.length > 0 && (toolChoice?.kind === 'required' || toolChoice?.kind === 'tool'))

/**
 * Rewrites the request for an upstream without `tool_choice`: only the named tool is sent, and the
 * instructions demand the call. The change of `tool_choice` is noted.
 */
export function withDemandInWords(request: ChatRequest): ChatRequest {
  const { tools, toolChoice, system, search } = request
  if (!isForced(request)) return request
  adjustField(request, 'toolChoice')
  if (search?.isForced === true) return { ...request, search: { ...search, isForced: false } }
  const named =
    toolChoice?.kind === 'tool' ? tools.filter(({ name }) => name === toolChoice.name) : []
  const shown = named.length === 0 ? tools : named
  const text =
    shown.length === 1
      ? `Answer with a call of the tool ${shown[0]?.name}, and with nothing else.`
      : 'Answer with a call of one of the tools, and with nothing else.'
  return {
    ...request,
    tools: shown,
    toolChoice: { kind: 'auto' },
    system: [...system, { kind: 'text', text, cache: null }],
  }
}
