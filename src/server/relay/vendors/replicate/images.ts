import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { present, recordOr, wordOf, textOr, type JsonRecord } from '../../json/json-value.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { jsonAnswer, recordIn, unusable, withBody } from '../../transport/json-steps.ts'
import { membersOf, rewritten, takenOut } from '../shared/rewritten-body.ts'
import { imagesAt, WANTED } from '../shared/openai-images.ts'
import { fileOf, versionOf } from './address.ts'
import { failureOf } from './read-answer.ts'

/**
 * Image generation in OpenAI's format, made as predictions. Sources: OpenAI's API reference,
 * "Create image"; Replicate's HTTP API reference, "Create a prediction", and the input schemas of
 * its official image models.
 */

/** Members without an effect on an image. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['model', 'user', 'stream', 'partial_images', 'n'])
/** Values that equal the default behaviour. */
const AS_USUAL: ReadonlySet<unknown> = new Set(['auto', 'standard', null])
/** Aspect ratios that models have a name for. */
const RATIOS: ReadonlySet<string> = new Set(
  '1:1 16:9 9:16 4:3 3:4 3:2 2:3 4:5 5:4 21:9 9:21 2:1 1:2'.split(' '),
)

/**
 * Converts the client's request to a model's input; members that OpenAI does not have are passed
 * on.
 */
export function imageRequestEdits(body: ScannedBody, { model }: ProviderCall): MemberEdit[] {
  const request = membersOf(body)
  const input: JsonRecord = {}
  for (const [name, value] of Object.entries(request)) Object.assign(input, inputOf(name, value))
  const count = request.n ?? 1
  if (count !== 1) input.num_outputs = count
  return rewritten(request, {
    ...present({ version: versionOf(model), [WANTED]: request[WANTED] }),
    input,
  })
}

function inputOf(name: string, value: unknown): JsonRecord {
  if (LEFT_BEHIND.has(name) || name === WANTED) return {}
  switch (name) {
    case 'size':
      return sizeOf(value)
    case 'quality':
    case 'background':
    case 'moderation':
      if (AS_USUAL.has(value)) return {}
      throw unsupportedField(name)
    case 'style':
      if (value === null || value === 'vivid') return {}
      throw unsupportedField(name)
    case 'output_format':
      return value === null ? {} : { output_format: value === 'jpeg' ? 'jpg' : value }
    case 'output_compression':
      return value === null ? {} : { output_quality: value }
    case 'input':
      return recordOr(value)
    default:
      return value === null ? {} : { [name]: value }
  }
}

function sizeOf(value: unknown): JsonRecord {
  if (value === null || value === 'auto') return {}
  const found = /^(\d{2,5})x(\d{2,5})$/.exec(wordOf(value))
  if (found === null) throw unsupportedField('size')
  const [width, height] = [Number(found[1]), Number(found[2])]
  const shared = divisorOf(width, height)
  const ratio = `${width / shared}:${height / shared}`
  return RATIOS.has(ratio) ? { aspect_ratio: ratio } : { aspect_ratio: 'custom', width, height }
}

const divisorOf = (a: number, b: number): number => (b === 0 ? a : divisorOf(b, a % b))

/** Polls the prediction, and answers in OpenAI's format. */
export const drawn =
  (finish: Walk): Walk =>
  async (steps, request) => {
    const { value: wanted, sent } = takenOut(request, WANTED)
    const answer = await finish(steps, withBody(request, sent))
    if (answer === null || answer.status !== 200) return answer
    const prediction = recordIn(answer)
    const failure = failureOf(prediction)
    if (failure !== undefined) return jsonAnswer({ error: failure })
    const addresses = addressesIn(prediction.output)
    if (addresses.length === 0) return unusable('no picture was made')
    const askFor = (address: string): UpstreamRequest | null => fileOf(request, address)
    const data = await imagesAt(steps, addresses, { wanted, askFor })
    return jsonAnswer({ created: createdSeconds(prediction), data })
  }

/** URLs of one file, or several. */
const addressesIn = (output: unknown): string[] =>
  (Array.isArray(output) ? output : [output]).map(textOr).filter((address) => address !== '')

const MS_PER_SECOND = 1000

function createdSeconds({ created_at: created }: JsonRecord): number {
  const ms = Date.parse(textOr(created))
  return Number.isNaN(ms) ? 0 : Math.floor(ms / MS_PER_SECOND)
}
