import type { ChatRequest, SpokenName } from '../canonical/chat-request.ts'
import { unsupportedField } from '../canonical/reading.ts'
import type { AppError } from '../../app-error.ts'

/** What a client calls a field of the canonical request, for refusals that it is to understand. */
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
} as const satisfies Record<string, Record<SpokenName, string>>

/** The refusal of a field that the upstream's dialect has no word for. */
export function cannotSay(request: ChatRequest, field: keyof typeof NAMES): AppError {
  const isEffort = field === 'thinking' && request.thinking?.kind === 'effort'
  return unsupportedField(NAMES[isEffort ? 'effort' : field][request.spokenIn])
}
