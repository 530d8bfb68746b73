import type { Answer } from '../answer.ts'
import type { Call } from '../call.ts'
import {
  baiduChatAnswer,
  baiduEmbeddingAnswer,
  baiduRankAnswer,
  baiduTokenAnswer,
} from './baidu-answers.ts'
import { tencentAnswer } from './tencent-answers.ts'
import { converseAnswer, invokeAnswer } from './bedrock/bedrock-answers.ts'
import { cohereChatAnswer, cohereEmbedAnswer, cohereRankAnswer } from './cohere-answers.ts'
import { cozeChatAnswer } from './coze-answers.ts'
import {
  dashscopeEmbeddingAnswer,
  dashscopeFileAnswer,
  dashscopeGenerationAnswer,
  dashscopeRankAnswer,
  dashscopeSoundAnswer,
  dashscopeSpeechAnswer,
  dashscopeStatusAnswer,
  dashscopeTaskAnswer,
} from './dashscope-answers.ts'
import { deeplTranslateAnswer, deeplUsageAnswer } from './deepl-answers.ts'
import { minimaxPictureAnswer, minimaxSpeechAnswer } from './minimax-answers.ts'
import { ollamaChatAnswer, ollamaEmbedAnswer } from './ollama-answers.ts'
import {
  checkedCloudflare,
  checkedDashscope,
  checkedZhipu,
  minimaxAnswer,
  zhipuPictureAnswer,
  zhipuSpeechAnswer,
} from '../openai/openai-like-checks.ts'
import {
  replicateCancelAnswer,
  replicateCreateAnswer,
  replicateFileAnswer,
  replicateGetAnswer,
  replicateStreamAnswer,
} from './replicate-answers.ts'
import {
  imagenAnswer,
  vertexClaudeAnswer,
  vertexContentAnswer,
  vertexGeminiAnswer,
  vertexMistralAnswer,
  vertexPredictAnswer,
  vertexSharedAnswer,
  vertexTokenAnswer,
} from './vertex-answers.ts'

/** Endpoints of providers with their own paths or dialects. */
export const providerEndpoints: [suffix: RegExp, answer: (call: Call) => Answer][] = [
  [/\/model\/.+\/converse(?:-stream)?$/, converseAnswer],
  [/\/model\/.+\/invoke(?:-with-response-stream)?$/, invokeAnswer],
  [/\/vertex-token$/, vertexTokenAnswer],
  [/\/publishers\/google\/models\/[^/]+:(?:stream)?generateContent$/i, vertexGeminiAnswer],
  [/\/publishers\/anthropic\/models\/[^/]+:(?:stream)?rawPredict$/i, vertexClaudeAnswer],
  [/\/publishers\/mistralai\/models\/[^/]+:(?:stream)?rawPredict$/i, vertexMistralAnswer],
  [/\/publishers\/google\/models\/[^/]+:predict$/, vertexPredictAnswer],
  [/\/publishers\/google\/models\/[^/]+:embedContent$/, vertexContentAnswer],
  [/\/models\/imagen[^/]+:predict$/, imagenAnswer],
  [/\/endpoints\/openapi\/chat\/completions$/, vertexSharedAnswer],
  [/\/api\/chat$/, ollamaChatAnswer],
  [/\/api\/embed$/, ollamaEmbedAnswer],
  [/\/v2\/rerank$/, cohereRankAnswer],
  [/\/v2\/chat$/, cohereChatAnswer],
  [/\/v2\/embed$/, cohereEmbedAnswer],
  [/\/v3\/chat$/, cozeChatAnswer],
  [/\/v2\/translate$/, deeplTranslateAnswer],
  [/\/v2\/usage$/, deeplUsageAnswer],
  [/\/text\/chatcompletion_v2$/, minimaxAnswer],
  [/\/v1\/t2a_v2$/, minimaxSpeechAnswer],
  [/\/v1\/image_generation$/, minimaxPictureAnswer],
  [/\/predictions$/, replicateCreateAnswer],
  [/\/predictions\/[\w-]+$/, replicateGetAnswer],
  [/\/predictions\/[\w-]+\/cancel$/, replicateCancelAnswer],
  [/\/v1\/stream\/[\w-]+$/, replicateStreamAnswer],
  [/\/v1\/files\/\d+\.png$/, replicateFileAnswer],
  [/\/api\/paas\/v4\/chat\/completions$/, checkedZhipu],
  [/\/api\/paas\/v4\/images\/generations$/, zhipuPictureAnswer],
  [/\/api\/paas\/v4\/audio\/speech$/, zhipuSpeechAnswer],
  [/\/compatible-mode\/v1\/chat\/completions$/, checkedDashscope],
  [/\/compatible-mode\/v1\/embeddings$/, dashscopeEmbeddingAnswer],
  [/\/services\/rerank\/text-rerank\/text-rerank$/, dashscopeRankAnswer],
  [/\/services\/aigc\/(?:text2image|image2image)\/image-synthesis$/, dashscopeTaskAnswer],
  [/\/services\/aigc\/multimodal-generation\/generation$/, dashscopeGenerationAnswer],
  [/\/services\/audio\/tts\/SpeechSynthesizer$/, dashscopeSpeechAnswer],
  [/^\/dashscope-result\/1\.wav$/, dashscopeSoundAnswer],
  [/\/api\/v1\/tasks\/[\w-]+$/, dashscopeStatusAnswer],
  [/^\/dashscope-result\/1\.png$/, dashscopeFileAnswer],
  [/\/client\/v4\/accounts\//, checkedCloudflare],
  [/^\/$/, tencentAnswer],
  [/\/oauth\/2\.0\/token$/, baiduTokenAnswer],
  [/\/wenxinworkshop\/chat\/[^/]+$/, baiduChatAnswer],
  [/\/wenxinworkshop\/embeddings\/[^/]+$/, baiduEmbeddingAnswer],
  [/\/wenxinworkshop\/reranker\/[^/]+$/, baiduRankAnswer],
]
