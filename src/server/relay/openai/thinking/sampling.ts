import type { ChatRequest } from '../../canonical/chat-request.ts'
import type { ProviderCall } from '../../dialect/provider.ts'
import { reportSampling } from '../../dialect/steering.ts'
import { memberRange, memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'

/** OpenAI's own models, which refuse what their API does not name; those it gave away run anywhere. */
export const OWN_MODEL = /^(?:gpt-(?!oss)|o\d|chatgpt-)/

/**
 * Models of OpenAI that think before they answer. While they do they refuse every figure for
 * sampling: "Only the default (1) value is supported". Sources: OpenAI's guides "Reasoning models"
 * and, for each model from 5.1 on, "Parameter compatibility"; what the models were seen to answer
 * where nobody told them how much to think (UKGovernmentBEIS/inspect_ai#5242).
 */
const THINKS = /^(?:o\d|gpt-(?:5(?!-chat)|[6-9]))/
/** They cannot be told not to. */
const ALWAYS_THINKS = /^(?:o\d|gpt-5(?![.\d])|gpt-[\d.]+-(?:codex|chat|pro))/
/** They do only when told to; later ones unless told not to. */
const THINKS_WHEN_TOLD = /^gpt-5\.[1-4](?!\d)/

/**
 * Kimi's figures are its vendor's: "invalid temperature: only 1 is allowed for this model", which
 * is another one where it does not think. Sources: the Kimi API platform, "Models overview",
 * "Parameter comparison"; AgentScope's documentation, "Kimi", "Compatibility notes".
 */
const FIGURES_ARE_FIXED = /^kimi-(?:k2[.-][5-9]|k[3-9]|for-coding)/i

function isThinking(model: string, effort: string | null): boolean {
  if (!THINKS.test(model)) return false
  if (ALWAYS_THINKS.test(model)) return true
  return effort === null ? !THINKS_WHEN_TOLD.test(model) : effort !== 'none'
}

/** The figures for sampling that a model takes; `effort`: what it is told to think, null: nothing. */
export function openaiSampling(
  request: ChatRequest,
  model: string,
  effort: string | null,
): JsonRecord {
  if (isThinking(model, effort) || FIGURES_ARE_FIXED.test(model)) {
    reportSampling(request, SAMPLING)
    return {}
  }
  if (OWN_MODEL.test(model)) reportSampling(request, ['topK'])
  return present({
    temperature: request.temperature,
    top_p: request.topP,
    // OpenAI has no such figure, and its own models refuse it.
    top_k: OWN_MODEL.test(model) ? null : request.topK,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
  })
}

const SAMPLING = ['temperature', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty'] as const

const FIGURES = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] as const

/** Values that ask for what happens without them. */
const USUAL_VALUES: Readonly<Record<(typeof FIGURES)[number], readonly unknown[]>> = {
  temperature: [null, 1],
  top_p: [null, 1],
  presence_penalty: [null, 0],
  frequency_penalty: [null, 0],
}

/** Programs send figures with every model; those that OpenAI's would refuse here are left out. */
export function samplingEdits(
  body: ScannedBody,
  { model, notes }: Pick<ProviderCall, 'model' | 'notes'>,
): MemberEdit[] {
  const sent = FIGURES.filter((name) => memberRange(body, name) !== null)
  if (sent.length === 0) return []
  const effort = memberValue(body, 'reasoning_effort')
  if (!isThinking(model, typeof effort === 'string' ? effort : null)) return []
  for (const name of sent) {
    if (!USUAL_VALUES[name].includes(memberValue(body, name) ?? null)) notes?.reportDropped(name)
  }
  return sent.map((name) => ({ remove: name }))
}
