import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, present, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { jsonAnswer, recordIn, sentSeconds } from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { nearestShape, sidesOf } from '../google/shapes.ts'
import { AS_USUAL, WANTED } from '../shared/openai-images.ts'
import { membersOf, rewritten } from '../shared/rewritten-body.ts'

/**
 * Image generation by MiniMax's `image-01` in OpenAI's format. Source: MiniMax's API reference,
 * "Image Generation".
 */

export const IMAGE_PATH = '/v1/image_generation'

export const draws = (model: string): boolean => model.startsWith('image-01')

/** Accepts aspect ratios only, no sizes in pixels. */
const isLive = (model: unknown): boolean => model === 'image-01-live'

const SHAPES = ['1:1', '16:9', '4:3', '3:2', '2:3', '3:4', '9:16']

/** Members without an effect on an image. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('user stream partial_images'.split(' '))

/** MiniMax's own members, which are sent unchanged. */
const OWN: ReadonlySet<string> = new Set(
  'seed prompt_optimizer subject_reference aigc_watermark'.split(' '),
)

export function imageRequestEdits(body: ScannedBody): MemberEdit[] {
  const asked = membersOf(body)
  const { model, prompt, n, size, [WANTED]: wanted, ...others } = asked
  for (const [name, value] of Object.entries(others)) {
    if (OWN.has(name) || LEFT_BEHIND.has(name) || AS_USUAL.has(value)) continue
    throw unsupportedField(name)
  }
  const own = Object.entries(others).filter(([name]) => OWN.has(name))
  return rewritten(asked, {
    ...present(Object.fromEntries(own)),
    model,
    prompt,
    n: n ?? 1,
    ...sizeWords(size, model),
    [WANTED]: wanted === 'b64_json' ? 'base64' : 'url',
  })
}

function sizeWords(size: unknown, model: unknown): JsonRecord {
  const sides = sidesOf(size)
  if (sides === null) return {}
  return isLive(model) ? { aspect_ratio: nearestShape(sides, SHAPES) } : { ...sides }
}

/** An error with status 200 is read like every error of MiniMax. */
export const imageWalk: Walk = async (steps, request) => {
  const answer = await steps.fetch(request)
  if (answer.status !== 200) return answer
  const { image_urls: urls, image_base64: inline } = recordOr(recordIn(answer).data)
  const textsIn = (value: unknown): string[] => arrayOr(value).map(textOr).filter(Boolean)
  const data = [
    ...textsIn(urls).map((url) => ({ url })),
    ...textsIn(inline).map((bytes) => ({ b64_json: bytes })),
  ]
  return data.length === 0 ? answer : jsonAnswer({ created: sentSeconds(answer), data })
}
