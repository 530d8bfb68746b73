import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { AS_USUAL, imageMember, WANTED } from '../shared/openai-images.ts'
import { jsonAnswer, recordIn, sentSeconds, withBody } from '../../transport/json-steps.ts'
import { membersOf, rewritten, takenOut } from '../shared/rewritten-body.ts'
import { nearestShape, sidesOf } from './shapes.ts'

/**
 * Image generation by Imagen in OpenAI's format, for Vertex AI and the Gemini API. Sources:
 * Generative AI on Vertex AI, "Imagen API" and "Set the aspect ratio"; Gemini API, "Imagen".
 */

export const isImagen = (model: string): boolean =>
  /^(?:models\/|google\/)?(?:imagen-|imagegeneration@)/.test(model)

/** Members without an effect on an image. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('model user stream partial_images'.split(' '))
/** Aspect ratios that Imagen supports. */
const SHAPES = ['1:1', '3:4', '4:3', '9:16', '16:9']

/** Members that OpenAI does not have are sent unchanged as parameters of the model. */
export function imagenEdits(body: ScannedBody): MemberEdit[] {
  const asked = membersOf(body)
  const { prompt, parameters: own, ...others } = asked
  const parameters: JsonRecord = { sampleCount: 1 }
  for (const [name, value] of Object.entries(others)) {
    Object.assign(parameters, parameterOf(name, value))
  }
  return rewritten(asked, {
    instances: [{ prompt }],
    parameters: { ...parameters, ...recordOr(own) },
    ...(asked[WANTED] === undefined ? {} : { [WANTED]: asked[WANTED] }),
  })
}

function parameterOf(name: string, value: unknown): JsonRecord {
  if (LEFT_BEHIND.has(name) || name === WANTED) return {}
  switch (name) {
    case 'n':
      return value === null ? {} : { sampleCount: value }
    case 'size':
      return ratioOf(value)
    case 'quality':
    case 'style':
    case 'background':
    case 'moderation':
      if (AS_USUAL.has(value)) return {}
      throw unsupportedField(name)
    case 'output_format':
      if (value === null) return {}
      if (typeof value !== 'string') throw unsupportedField(name)
      return { outputOptions: { mimeType: `image/${value}` } }
    default:
      return value === null ? {} : { [name]: value }
  }
}

function ratioOf(size: unknown): JsonRecord {
  const sides = sidesOf(size)
  return sides === null ? {} : { aspectRatio: nearestShape(sides, SHAPES) }
}

/** Imagen returns bytes; a client that requests a URL gets a `data:` URL. */
export const imagenWalk: Walk = async (steps, request) => {
  const { value: wanted, sent } = takenOut(request, WANTED)
  const answer = await steps.fetch(withBody(request, sent))
  if (answer.status !== 200) return answer
  const predictions = arrayOr(recordIn(answer).predictions).map(recordOr)
  const data = predictions.flatMap((prediction) => imageOf(prediction, wanted))
  if (data.length > 0) return jsonAnswer({ created: sentSeconds(answer), data })
  const reason = predictions.map(({ raiFilteredReason }) => textOr(raiFilteredReason)).find(Boolean)
  const message = reason ?? 'no picture was made'
  const error = { message, type: 'image_generation_user_error', code: 'content_filter' }
  return jsonAnswer({ error }, 400)
}

function imageOf(
  { bytesBase64Encoded: data, mimeType, prompt }: JsonRecord,
  wanted: unknown,
): JsonRecord[] {
  if (typeof data !== 'string' || data === '') return []
  const picture = imageMember({ mimeType, data }, wanted)
  return [{ ...picture, ...(typeof prompt === 'string' ? { revised_prompt: prompt } : {}) }]
}
