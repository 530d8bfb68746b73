import type { TooLong } from '../../protocols/dialect/relay-error.ts'
import type { SaidRefusal } from './refusals.ts'

/** Detects errors about requests that are longer than the model's context. */

/** Messages that contain nothing else. */
export const TOO_LONG: TooLong = { total: null, answer: 0, max: null }

/**
 * Codes of OpenAI, also used by Groq, Cerebras and many servers; of llama.cpp; and of Anthropic for
 * a body that is too large.
 */
const WORDS: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'request_too_large',
])

/**
 * Beginnings of vendors' messages, with numbers if they contain them. Sources, in this order:
 * Anthropic, "Errors" and "Context windows"; OpenAI, also DeepSeek, OpenRouter and vLLM (four
 * forms); OpenAI's newer two; xAI; Gemini and Vertex AI; Alibaba Cloud Model Studio, "Error
 * messages"; Moonshot; Mistral; Groq; Amazon Bedrock; llama.cpp; SGLang (two); SiliconFlow;
 * MiniMax; Fireworks; Together; Volcano Ark (two); Cloudflare; Cohere.
 */
const SENTENCES: readonly RegExp[] = [
  /^prompt is too long(?:: (?<total>\d+) tokens > (?<max>\d+))?/i,
  /^input length and `max_tokens` exceed context limit: (?<prompt>\d+) \+ (?<answer>\d+) > (?<max>\d+)/,
  /^This model's maximum context length is (?<max>\d+) tokens\. However, you requested (?<answer>\d+) output tokens and your prompt contains (?:at least )?(?<prompt>\d+) /,
  /^'max_tokens' or 'max_completion_tokens' is too large: (?<answer>\d+)\. This model's maximum context length is (?<max>\d+) tokens and your request has (?<prompt>\d+) /,
  /^You passed (?<prompt>\d+) input tokens and requested (?<answer>\d+) output tokens\. However, the model's context length is only (?<max>\d+) /,
  // oxlint-disable-next-line gatehouse/linear-pattern -- reads 400 characters at most
  /^This (?:model|endpoint)'s maximum context length is (?<max>\d+) tokens(?:.*? (?:requested|resulted in|has|contains)(?: about)? (?<total>\d+)(?: input)? tokens)?(?: \([^)]*?(?<answer>\d+) (?:in|for) the (?:completion|output)\))?/,
  /^Your input exceeds the context window of this model/,
  /^Input tokens exceed the configured limit of (?<max>\d+) tokens\. Your messages resulted in (?<total>\d+) /,
  /^This model's maximum prompt length is (?<max>\d+) but the request contains (?<total>\d+) /,
  /^The input token count (?:\((?<total>\d+)\) )?exceeds the maximum number of tokens allowed \(?(?<max>\d+)/,
  /^Unable to submit request because the input token count is (?<total>\d+) but model only supports up to (?<max>\d+)/,
  /^(?:<400> )?(?:InternalError\.Algo\.InvalidParameter: )?Range of input length should be \[1, (?<max>\d+)\]/,
  /^(?:Invalid request: )?Your request exceeded model token limit: (?<max>\d+)(?: \(requested: (?<total>\d+))?/,
  /^Prompt contains (?<total>\d+) tokens .*?too large for model with (?<max>\d+) maximum context length/,
  /^Please reduce the length of the messages or completion/,
  /^(?:The model returned the following errors: )?(?:Input is too long for requested model|prompt is too long(?:: (?<total>\d+) tokens > (?<max>\d+))?)/i,
  /^(?:the )?request (?:\((?<total>\d+) tokens\) )?exceeds the available context size(?: \((?<max>\d+) tokens\))?/,
  /^(?:The i|I)nput \((?<total>\d+) tokens\) is longer than the model's context length \((?<max>\d+) tokens\)/,
  /^Requested token count exceeds the model's maximum context length of (?<max>\d+) tokens\. You requested a total of (?<total>\d+) tokens: \d+ tokens from the input messages and (?<answer>\d+) /,
  /^length of prompt_tokens \((?<total>\d+)\) must be less than max_seq_len \((?<max>\d+)\)/,
  /^invalid params, context window exceeds limit/,
  /^The prompt is too long: (?<total>\d+), model maximum context length: (?<max>\d+)/,
  /^(?:Input validation error: )?`inputs` tokens \+ `max_new_tokens` must be <= (?<max>\d+)\. Given: (?<prompt>\d+) `inputs` tokens and (?<answer>\d+) /,
  /^Total tokens of image and text exceed max message tokens/,
  /^Input length (?<total>\d+) exceeds the maximum length (?<max>\d+)/,
  /^(?:AiError: )*The estimated number of input and maximum output tokens \((?<total>\d+)\) exceeded this model context window limit \((?<max>\d+)\)/,
  /^too many tokens: (?:total number of tokens|size limit exceeded)/,
]

/** Maximum length of the part of a message that is matched, in characters. */
const SENTENCE_MAX = 400

/** Returns which part of the request is too long; null if the error has another cause. */
export function tooLongIn({ code, type, message }: SaidRefusal): TooLong | null {
  const said = message.slice(0, SENTENCE_MAX)
  for (const sentence of SENTENCES) {
    const found = sentence.exec(said)
    if (found !== null) return figuresOf(found.groups ?? {})
  }
  return WORDS.has(code) || WORDS.has(type) ? TOO_LONG : null
}

function figuresOf(groups: Readonly<Record<string, string | undefined>>): TooLong {
  const number = (text: string | undefined): number | null =>
    text === undefined ? null : Number(text)
  const answer = number(groups['answer']) ?? 0
  const prompt = number(groups['prompt'])
  const total = prompt === null ? number(groups['total']) : prompt + answer
  return { total, answer, max: number(groups['max']) }
}
