import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import { addressOf } from '../shared/sent-images.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import {
  arrayOr,
  listOf,
  present,
  recordOr,
  wordOf,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'
import type { StepAnswer, Steps, Walk } from '../../transport/upstream-steps.ts'
import { followed } from '../shared/followed-work.ts'
import { AS_USUAL, imagesAt, WANTED } from '../shared/openai-images.ts'
import {
  jsonAnswer,
  recordIn,
  sentSeconds,
  unusable,
  withBody,
} from '../../transport/json-steps.ts'
import { membersOf, rewritten, takenOut } from '../shared/rewritten-body.ts'
import { failedTask, inOpenaisWords } from './errors.ts'
import { fileOf } from './files.ts'

/**
 * Image generation by DashScope in OpenAI's format. Newer models respond synchronously; others
 * create a task, which is polled until it ends. Source: Alibaba Cloud Model Studio, "Qwen-Image
 * API", "Qwen-Image-Edit API", "Wan text-to-image V2 API", "Wan general image editing 2.5 API" and
 * "Manage asynchronous tasks".
 */

export const drawsAtOnce = (model: string): boolean =>
  /^(?:qwen-image|z-image|wan(?:2\.[6-9]|[3-9]))/.test(model)

/** Edits images by a task; newer models do so synchronously. */
const CHANGES_BY_TASK = /^wan2\.5-i2i/

/** Path of the model's image editing below the services; null if it cannot edit images. */
export function changePath(model: string): string | null {
  if (CHANGES_BY_TASK.test(model)) return 'aigc/image2image/image-synthesis'
  return drawsAtOnce(model) ? 'aigc/multimodal-generation/generation' : null
}

/** Prefix of open models in One API's names, which DashScope does not use. */
const OWN_PREFIX = /^ali-(?=stable-diffusion)/

/** Members without an effect on an image. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('user stream partial_images'.split(' '))

/** Members that OpenAI does not have are sent unchanged as parameters of the model. */
export function imageRequestEdits(body: ScannedBody, { model, task }: ProviderCall): MemberEdit[] {
  const asked = membersOf(body)
  const { image, images, ...words } = asked
  const changed = task === 'imageEdits' ? [...listOf(image), ...listOf(images)].map(addressOf) : []
  const {
    model: name,
    prompt,
    negative_prompt: negative,
    parameters: own,
    ...others
  } = task === 'imageEdits' ? words : asked
  const parameters: JsonRecord = { n: 1 }
  for (const [member, value] of Object.entries(others)) {
    if (task === 'imageEdits') refuseUnsaid(member, value)
    Object.assign(parameters, parameterOf(member, value))
  }
  const isAtOnce = drawsAtOnce(model)
  const shown = changed.map((address) => ({ image: address }))
  const input = isAtOnce
    ? { messages: [{ role: 'user', content: [...shown, { text: prompt }] }] }
    : present({
        prompt,
        images: changed.length === 0 ? undefined : changed,
        negative_prompt: negative,
      })
  return rewritten(asked, {
    model: wordOf(name).replace(OWN_PREFIX, ''),
    input,
    parameters: {
      ...parameters,
      ...(isAtOnce ? present({ negative_prompt: negative }) : {}),
      ...recordOr(own),
    },
    ...(asked[WANTED] === undefined ? {} : { [WANTED]: asked[WANTED] }),
  })
}

/** Rejects OpenAI's members for image editing that none of these models supports. */
function refuseUnsaid(name: string, value: unknown): void {
  const isOpenais = name === 'mask' || name === 'input_fidelity' || name.startsWith('output_')
  if (isOpenais && !(value === null || value === '')) throw unsupportedField(name)
}

function parameterOf(name: string, value: unknown): JsonRecord {
  if (LEFT_BEHIND.has(name) || name === WANTED) return {}
  switch (name) {
    case 'size':
      if (value === null || value === 'auto') return {}
      if (typeof value !== 'string') throw unsupportedField('size')
      return { size: value.replace('x', '*') }
    case 'quality':
    case 'background':
    case 'moderation':
      if (AS_USUAL.has(value)) return {}
      throw unsupportedField(name)
    case 'style':
      return AS_USUAL.has(value) ? {} : { style: value }
    default:
      return value === null ? {} : { [name]: value }
  }
}

export const imageWalk: Walk = async (steps, request) => {
  const { value: wanted, sent } = takenOut(request, WANTED)
  const created = await steps.fetch(withBody(request, sent))
  if (created.status !== 200) return inOpenaisWords(created)
  const { output } = recordIn(created)
  const isTask = recordOr(output).task_id !== undefined
  const answer = isTask ? await finishedTask(steps, request, recordOr(output)) : created
  if (answer.status !== 200) return inOpenaisWords(answer)
  const made = recordOr(recordIn(answer).output)
  if (isTask && made.task_status !== 'SUCCEEDED') return failedTask(made)
  const addresses = [...addressesOfTask(made), ...addressesInChoices(made)]
  if (addresses.length === 0) return noImage(made)
  const askFor = (address: string): UpstreamRequest | null => fileOf(request, address)
  const data = await imagesAt(steps, addresses, { wanted, askFor })
  return jsonAnswer({ created: sentSeconds(answer), data })
}

const OVER: ReadonlySet<unknown> = new Set(['SUCCEEDED', 'FAILED', 'CANCELED', 'UNKNOWN'])
const TASK_ID = /^[\w-]{1,64}$/

/** Returns the response that reports the end of the task. */
function finishedTask(
  steps: Steps,
  request: UpstreamRequest,
  { task_id: id }: JsonRecord,
): Promise<StepAnswer> | StepAnswer {
  if (!TASK_ID.test(wordOf(id))) return unusable('the task has no id')
  const asking = askAbout(request, wordOf(id))
  const cancel: UpstreamRequest = { ...asking, url: `${asking.url}/cancel`, method: 'POST' }
  const isOver = (answer: StepAnswer): boolean =>
    OVER.has(recordOr(recordIn(answer).output).task_status)
  return followed(steps, { asking, cancel, limitMs: request.firstByteTimeoutMs, isOver })
}

/** Tasks have a path beside the services. */
function askAbout(request: UpstreamRequest, id: string): UpstreamRequest {
  const kept = Object.entries(request.headers).filter(
    ([name]) => !/^(?:content-type|x-dashscope-async)$/i.test(name),
  )
  return {
    ...request,
    url: request.url.replace(/\/services\/.*$/, `/tasks/${id}`),
    method: 'GET',
    headers: Object.fromEntries(kept),
    body: null,
  }
}

/** Some of several images may have failed; older models return the image itself. */
const addressesOfTask = ({ results }: JsonRecord): string[] =>
  arrayOr(results)
    .map(recordOr)
    .map(({ url, b64_image: bytes }) => textOr(url) || inlineAddress(textOr(bytes)))
    .filter(Boolean)

const inlineAddress = (bytes: string): string =>
  bytes === '' ? '' : `data:image/png;base64,${bytes}`

const addressesInChoices = ({ choices }: JsonRecord): string[] =>
  arrayOr(choices)
    .flatMap((choice) => arrayOr(recordOr(recordOr(choice).message).content))
    .map((part) => textOr(recordOr(part).image))
    .filter(Boolean)

/** Error of a task without any image; each failed image has its own reason. */
function noImage({ results }: JsonRecord): StepAnswer {
  const reason = arrayOr(results)
    .map(recordOr)
    .find(({ code }) => typeof code === 'string')
  return reason === undefined ? unusable('no picture was made') : failedTask(reason)
}
