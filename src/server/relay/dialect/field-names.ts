import type { ChatRequest, DialectName } from '../canonical/chat-request.ts'
import { unsupportedField } from '../canonical/reading.ts'
import type { AppError } from '../../app-error.ts'

/** What a client calls a field of the canonical request, for refusals that it is to understand. */
const NAMES = {
  topK: { openai: 'top_k', anthropic: 'top_k', gemini: 'generationConfig.topK' },
  stop: { openai: 'stop', anthropic: 'stop_sequences', gemini: 'generationConfig.stopSequences' },
  seed: { openai: 'seed', anthropic: 'seed', gemini: 'generationConfig.seed' },
  choices: { openai: 'n', anthropic: 'n', gemini: 'generationConfig.candidateCount' },
  presencePenalty: {
    openai: 'presence_penalty',
    anthropic: 'presence_penalty',
    gemini: 'generationConfig.presencePenalty',
  },
  frequencyPenalty: {
    openai: 'frequency_penalty',
    anthropic: 'frequency_penalty',
    gemini: 'generationConfig.frequencyPenalty',
  },
  topLogprobs: {
    openai: 'logprobs',
    anthropic: 'logprobs',
    gemini: 'generationConfig.responseLogprobs',
  },
  output: {
    openai: 'response_format',
    anthropic: 'output_config.format',
    gemini: 'generationConfig.responseMimeType',
  },
  thinking: {
    openai: 'reasoning_effort',
    anthropic: 'thinking',
    gemini: 'generationConfig.thinkingConfig',
  },
  temperature: {
    openai: 'temperature',
    anthropic: 'temperature',
    gemini: 'generationConfig.temperature',
  },
  parallelTools: {
    openai: 'parallel_tool_calls',
    anthropic: 'tool_choice.disable_parallel_tool_use',
    gemini: 'toolConfig',
  },
  toolChoice: { openai: 'tool_choice', anthropic: 'tool_choice', gemini: 'toolConfig' },
  tools: { openai: 'tools', anthropic: 'tools', gemini: 'tools' },
} as const satisfies Record<string, Record<DialectName, string>>

/** The refusal of a field that the upstream's dialect has no word for. */
export const cannotSay = (request: ChatRequest, field: keyof typeof NAMES): AppError =>
  unsupportedField(NAMES[field][request.spokenIn])
