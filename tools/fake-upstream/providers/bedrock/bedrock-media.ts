import { jsonAnswer, range, type Answer } from '../../answer.ts'
import { countOf, listOf, objectOf, textOf, type Call, type Json } from '../../call.ts'
import { bedrockErrorAnswer } from './bedrock-checks.ts'

/** Image generation and reranking of models invoked through Bedrock. */

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const invalid = (message: string): Answer => bedrockErrorAnswer(400, 'ValidationException', message)

/** An unknown member of the body; null if all are known. */
function stranger(json: Json, known: string): string | null {
  const names = new Set(known.split(' '))
  return Object.keys(json).find((name) => !names.has(name)) ?? null
}

const extraneous = (name: string): Answer => invalid(`extraneous key [${name}] is not permitted`)

/** Null for other models. */
export function bedrockMediaAnswer(call: Call): Answer | null {
  if (/nova-canvas|titan-image/.test(call.model)) return amazonsPictures(call)
  if (/stability\./.test(call.model)) return stabilitysPicture(call)
  return /\.rerank-/.test(call.model) ? rankedAnswer(call) : null
}

const PARAMS: Readonly<Record<string, readonly [member: string, known: string]>> = {
  TEXT_IMAGE: ['textToImageParams', 'text negativeText'],
  IMAGE_VARIATION: ['imageVariationParams', 'text negativeText images similarityStrength'],
  INPAINTING: ['inPaintingParams', 'text negativeText image maskPrompt'],
}
const CONFIG = 'numberOfImages width height quality cfgScale seed'

function amazonsPictures({ json }: Call): Answer {
  const [member, known] = PARAMS[textOf(json.taskType) ?? ''] ?? ['', '']
  const params = objectOf(json[member])
  const config = objectOf(json.imageGenerationConfig)
  const wrong =
    stranger(json, `taskType imageGenerationConfig ${member}`) ??
    stranger(params, known) ??
    stranger(config, CONFIG)
  if (wrong !== null) return extraneous(wrong)
  const text = textOf(params.text) ?? ''
  if (text === '') return invalid('text is required')
  const count = countOf(config.numberOfImages) ?? 1
  if (text.includes('blocked')) {
    return jsonAnswer({ images: [], error: 'All of the generated images were blocked.' })
  }
  return jsonAnswer({ images: range(count).map(() => PIXEL), error: null })
}

function stabilitysPicture({ json }: Call): Answer {
  const wrong = stranger(json, 'prompt negative_prompt aspect_ratio seed output_format mode')
  if (wrong !== null) return extraneous(wrong)
  if (textOf(json.prompt)?.includes('blocked')) {
    return jsonAnswer({ seeds: [1], finish_reasons: ['Filter reason: prompt'], images: [null] })
  }
  return jsonAnswer({ seeds: [1], finish_reasons: [null], images: [PIXEL] })
}

function rankedAnswer({ json, model }: Call): Answer {
  const isCoheres = model.includes('cohere.')
  const own = isCoheres ? ' api_version max_tokens_per_doc' : ''
  const wrong = stranger(json, `query documents top_n${own}`)
  if (wrong !== null) return extraneous(wrong)
  if (isCoheres && json.api_version !== 2) return invalid('api_version must be at least 2')
  const documents = listOf(json.documents)
  if (documents.some((document) => typeof document !== 'string')) {
    return invalid('documents: expected type: String')
  }
  const results = range(countOf(json.top_n) ?? documents.length).map((index) => ({
    index,
    relevance_score: 1 / (index + 1),
  }))
  return jsonAnswer({ results })
}
