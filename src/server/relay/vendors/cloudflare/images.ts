import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { imageType } from '../../count/image-size.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { present, recordOr, textOr } from '../../json/json-value.ts'
import {
  jsonAnswer,
  recordIn,
  sentSeconds,
  unusable,
  withBody,
} from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { sidesOf } from '../google/shapes.ts'
import { AS_USUAL, imageMember, WANTED } from '../shared/openai-images.ts'
import { membersOf, rewritten, takenOut } from '../shared/rewritten-body.ts'

/**
 * Image generation by Workers AI, in OpenAI's format. Source: Cloudflare's documentation, "Workers
 * AI: Models", text to image.
 */

/**
 * Models without support: FLUX.2 accepts only forms of its own, and other models need an input
 * image.
 */
export const draws = (model: string): boolean =>
  isSchnell(model) ||
  /\/(?:lucid-origin|phoenix-1\.0|dreamshaper-8-lcm|stable-diffusion-xl-(?:base-1\.0|lightning))$/.test(
    model,
  )

/** Generates square images of one size only. */
const isSchnell = (model: string): boolean => model.endsWith('/flux-1-schnell')

const USUAL_SIDE = 1024

/** Members without an effect on an image. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('model user stream partial_images'.split(' '))

/**
 * Converts the request to Cloudflare's members. Rejects what the price of an image does not cover:
 * steps and more pixels cost more at Cloudflare.
 */
export function imageRequestEdits(body: ScannedBody, { model }: { model: string }): MemberEdit[] {
  const asked = membersOf(body)
  const { prompt, n, size, seed, guidance, negative_prompt: negative, ...others } = asked
  if ((n ?? 1) !== 1) throw unsupportedField('n')
  const own = present({ guidance, negative_prompt: negative })
  for (const [name, value] of Object.entries({ ...others, ...(isSchnell(model) ? own : {}) })) {
    if (name === WANTED || LEFT_BEHIND.has(name) || AS_USUAL.has(value)) continue
    throw unsupportedField(name)
  }
  return rewritten(asked, {
    prompt,
    ...(isSchnell(model) ? {} : own),
    ...drawnSides(size, model),
    ...present({ seed, [WANTED]: asked[WANTED] }),
  })
}

function drawnSides(size: unknown, model: string): { width?: number; height?: number } {
  const sides = sidesOf(size)
  if (sides === null) return isSchnell(model) ? {} : { width: USUAL_SIDE, height: USUAL_SIDE }
  const { width, height } = sides
  if (isSchnell(model)) {
    if (width === USUAL_SIDE && height === USUAL_SIDE) return {}
    throw unsupportedField('size')
  }
  if (width * height > USUAL_SIDE * USUAL_SIDE) throw unsupportedField('size')
  return sides
}

/** Some models return the image as base64, others as bytes. */
export const imageWalk: Walk = async (steps, request) => {
  const { value: wanted, sent } = takenOut(request, WANTED)
  const answer = await steps.fetch(withBody(request, sent))
  if (answer.status !== 200) return answer
  const sentType = imageType(answer.body)
  const data =
    sentType === null
      ? textOr(recordOr(recordIn(answer).result).image)
      : answer.body.toString('base64')
  if (data === '') return unusable('no picture was made')
  const mimeType = imageType(Buffer.from(data, 'base64'))
  return jsonAnswer({
    created: sentSeconds(answer),
    data: [imageMember({ mimeType, data }, wanted)],
  })
}
