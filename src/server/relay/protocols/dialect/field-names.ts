import type { ChatRequest, SpokenName } from '../canonical/chat-request.ts'
import { unsupportedField } from '../canonical/reading.ts'
import type { AppError } from '../../../app-error.ts'

/** The client's name of a field of the canonical request, for error messages. */
const NAMES = {
  topK: {
    openai: 'top_k',
    responses: 'top_k',
    anthropic: 'top_k',
    gemini: 'generationConfig.topK',
  },
  topP: {
    openai: 'top_p',
    responses: 'top_p',
    anthropic: 'top_p',
    gemini: 'generationConfig.topP',
  },
  stop: {
    openai: 'stop',
    responses: 'stop',
    anthropic: 'stop_sequences',
    gemini: 'generationConfig.stopSequences',
  },
  seed: { openai: 'seed', responses: 'seed', anthropic: 'seed', gemini: 'generationConfig.seed' },
  choices: {
    openai: 'n',
    responses: 'n',
    anthropic: 'n',
    gemini: 'generationConfig.candidateCount',
  },
  presencePenalty: {
    openai: 'presence_penalty',
    responses: 'presence_penalty',
    anthropic: 'presence_penalty',
    gemini: 'generationConfig.presencePenalty',
  },
  frequencyPenalty: {
    openai: 'frequency_penalty',
    responses: 'frequency_penalty',
    anthropic: 'frequency_penalty',
    gemini: 'generationConfig.frequencyPenalty',
  },
  topLogprobs: {
    openai: 'logprobs',
    responses: 'top_logprobs',
    anthropic: 'logprobs',
    gemini: 'generationConfig.responseLogprobs',
  },
  output: {
    openai: 'response_format',
    responses: 'text.format',
    anthropic: 'output_config.format',
    gemini: 'generationConfig.responseMimeType',
  },
  thinking: {
    openai: 'reasoning_effort',
    responses: 'reasoning.effort',
    anthropic: 'thinking',
    gemini: 'generationConfig.thinkingConfig',
  },
  effort: {
    openai: 'reasoning_effort',
    responses: 'reasoning.effort',
    anthropic: 'output_config.effort',
    gemini: 'generationConfig.thinkingConfig.thinkingLevel',
  },
  temperature: {
    openai: 'temperature',
    responses: 'temperature',
    anthropic: 'temperature',
    gemini: 'generationConfig.temperature',
  },
  toolChoice: {
    openai: 'tool_choice',
    responses: 'tool_choice',
    anthropic: 'tool_choice',
    gemini: 'toolConfig',
  },
  modalities: {
    openai: 'modalities',
    responses: 'modalities',
    anthropic: 'modalities',
    gemini: 'generationConfig.responseModalities',
  },
  tools: { openai: 'tools', responses: 'tools', anthropic: 'tools', gemini: 'tools' },
  userId: {
    openai: 'user',
    responses: 'user',
    anthropic: 'metadata.user_id',
    gemini: 'labels',
  },
} as const satisfies Record<string, Record<SpokenName, string>>

export type FieldName = keyof typeof NAMES

/** Parameters of OpenAI's chat that the canonical form does not have. */
const OPENAI_ONLY = {
  logitBias: ['logit_bias'],
  parallelTools: ['parallel_tool_calls'],
  serviceTier: ['service_tier'],
  store: ['store'],
  metadata: ['metadata'],
  verbosity: ['verbosity'],
  cacheKey: ['prompt_cache_key', 'prompt_cache_retention'],
} as const

export type OpenaiOnlyField = keyof typeof OPENAI_ONLY

/** OpenAI's names of the canonical fields. */
export const OPENAI_NAMES = {
  temperature: ['temperature'],
  topP: ['top_p'],
  topK: ['top_k'],
  stop: ['stop'],
  seed: ['seed'],
  presencePenalty: ['presence_penalty'],
  frequencyPenalty: ['frequency_penalty'],
  thinking: ['reasoning_effort'],
  userId: ['user', 'safety_identifier'],
  ...OPENAI_ONLY,
} as const satisfies Partial<Record<FieldName | OpenaiOnlyField, readonly string[]>>

/** Returns the client's name of the field. */
export function fieldName({ spokenIn, thinking, output }: ChatRequest, field: FieldName): string {
  if (field === 'output' && output?.kind === 'schema' && output.at !== undefined) return output.at
  const isEffort = field === 'thinking' && thinking?.kind === 'effort'
  return NAMES[isEffort ? 'effort' : field][spokenIn]
}

/**
 * Error for a field that changes the answer and that the upstream's dialect does not have. Fields
 * that only steer are left out: `dropField`.
 */
export const cannotSay = (request: ChatRequest, field: FieldName): AppError =>
  unsupportedField(fieldName(request, field))

/** Notes that a steering field is left out. Throws the refusal if the call is strict. */
export const dropField = (request: ChatRequest, field: FieldName): void =>
  request.notes.drop(fieldName(request, field))

/** Notes that a field is sent with another value or as text. Throws if the call is strict. */
export const adjustField = (request: ChatRequest, field: FieldName): void =>
  request.notes.adjust(fieldName(request, field))
