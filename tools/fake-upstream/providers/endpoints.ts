import type { Answer } from '../answer.ts'
import type { Call } from '../call.ts'
import { converseAnswer, invokeAnswer } from './bedrock-answers.ts'
import { cohereChatAnswer, cohereEmbedAnswer, cohereRankAnswer } from './cohere-answers.ts'
import { ollamaChatAnswer, ollamaEmbedAnswer } from './ollama-answers.ts'
import { checkedCloudflare, checkedDashscope, checkedZhipu } from './openai-like-checks.ts'
import {
  vertexClaudeAnswer,
  vertexGeminiAnswer,
  vertexSharedAnswer,
  vertexTokenAnswer,
} from './vertex-answers.ts'

/** The surfaces of providers with addresses or words of their own. */
export const providerEndpoints: [suffix: RegExp, answer: (call: Call) => Answer][] = [
  [/\/model\/.+\/converse(?:-stream)?$/, converseAnswer],
  [/\/model\/.+\/invoke(?:-with-response-stream)?$/, invokeAnswer],
  [/\/vertex-token$/, vertexTokenAnswer],
  [/\/publishers\/google\/models\/[^/]+:(?:stream)?generateContent$/i, vertexGeminiAnswer],
  [/\/publishers\/anthropic\/models\/[^/]+:(?:stream)?rawPredict$/i, vertexClaudeAnswer],
  [/\/endpoints\/openapi\/chat\/completions$/, vertexSharedAnswer],
  [/\/api\/chat$/, ollamaChatAnswer],
  [/\/api\/embed$/, ollamaEmbedAnswer],
  [/\/v2\/rerank$/, cohereRankAnswer],
  [/\/v2\/chat$/, cohereChatAnswer],
  [/\/v2\/embed$/, cohereEmbedAnswer],
  [/\/api\/paas\/v4\/chat\/completions$/, checkedZhipu],
  [/\/compatible-mode\/v1\/chat\/completions$/, checkedDashscope],
  [/\/client\/v4\/accounts\//, checkedCloudflare],
]
