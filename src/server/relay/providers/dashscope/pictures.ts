import { unsupportedField } from '../../canonical/reading.ts'
import type { ProviderCall } from '../../dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'
import {
  StepFailed,
  type StepAnswer,
  type Steps,
  type Walk,
} from '../../transport/upstream-steps.ts'
import { present, textOr } from '../members.ts'
import {
  jsonAnswer,
  membersOf,
  recordIn,
  rewritten,
  sentSeconds,
  takenOut,
  unusable,
  withBody,
} from '../rewritten.ts'
import { failedTask, inOpenaisWords } from './errors.ts'

/**
 * Pictures by DashScope, asked for as OpenAI's clients do. Newer models answer at once; the others
 * are given a task, which is asked about until it is over. Source: Alibaba Cloud Model Studio,
 * "Qwen-Image API", "Wan text-to-image V2 API" and "Manage asynchronous tasks".
 */

export const drawsAtOnce = (model: string): boolean =>
  /^(?:qwen-image|z-image|wan(?:2\.[6-9]|[3-9]))/.test(model)

/** What the client wants back: for the walk, and not sent. */
const WANTED = 'response_format'
/** Members that change nothing about a picture. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('user stream partial_images'.split(' '))
/** Words that ask for what is done anyhow. */
const AS_USUAL: ReadonlySet<unknown> = new Set(['auto', 'standard', 'vivid', null])

/** Members that OpenAI does not know go to the model as they are, among its parameters. */
export function pictureEdits(body: ScannedBody, { model }: ProviderCall): MemberEdit[] {
  const asked = membersOf(body)
  const { model: name, prompt, negative_prompt: negative, parameters: own, ...others } = asked
  const parameters: JsonRecord = { n: 1 }
  for (const [member, value] of Object.entries(others)) {
    Object.assign(parameters, parameterOf(member, value))
  }
  const isAtOnce = drawsAtOnce(model)
  const input = isAtOnce
    ? { messages: [{ role: 'user', content: [{ text: prompt }] }] }
    : present({ prompt, negative_prompt: negative })
  return rewritten(asked, {
    model: name,
    input,
    parameters: {
      ...parameters,
      ...(isAtOnce ? present({ negative_prompt: negative }) : {}),
      ...recordOr(own),
    },
    ...(asked[WANTED] === undefined ? {} : { [WANTED]: asked[WANTED] }),
  })
}

function parameterOf(name: string, value: unknown): JsonRecord {
  if (LEFT_BEHIND.has(name) || name === WANTED) return {}
  switch (name) {
    case 'size':
      if (value === null || value === 'auto') return {}
      return { size: String(value).replace('x', '*') }
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

export const pictureWalk: Walk = async (steps, request) => {
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
  if (addresses.length === 0) return noPicture(made)
  const data = []
  for (const url of addresses) {
    data.push(wanted === 'b64_json' ? { b64_json: await bytesAt(steps, request, url) } : { url })
  }
  return jsonAnswer({ created: sentSeconds(answer), data })
}

/** How long until a task is asked about again; the last figure goes on. */
const PAUSES_MS = [250, 500, 1000, 2000, 3000]
const PENDING_MAX_MS = 600_000
/** Failures to learn how it stands that are passed over, one after the other. */
const MISSES_MAX = 3
const OVER: ReadonlySet<unknown> = new Set(['SUCCEEDED', 'FAILED', 'CANCELED', 'UNKNOWN'])
const TASK_ID = /^[\w-]{1,64}$/

/** The answer that says how the task ended; one that nobody waits for any more is cancelled. */
async function finishedTask(
  steps: Steps,
  request: UpstreamRequest,
  { task_id: id }: JsonRecord,
): Promise<StepAnswer> {
  if (!TASK_ID.test(String(id))) return unusable('the task has no id')
  const asking = askAbout(request, String(id))
  const cancel = (): void => steps.tell({ ...asking, url: `${asking.url}/cancel`, method: 'POST' })
  let misses = 0
  let waitedMs = 0
  try {
    for (let question = 0; waitedMs < PENDING_MAX_MS; question += 1) {
      const pauseMs = PAUSES_MS[Math.min(question, PAUSES_MS.length - 1)] ?? 0
      await steps.wait(pauseMs)
      waitedMs += pauseMs
      const answer = await steps.fetch(asking)
      const isGood = answer.status === 200
      if (isGood && OVER.has(recordOr(recordIn(answer).output).task_status)) return answer
      misses = isGood ? 0 : misses + 1
      if (misses === MISSES_MAX) return answer
    }
  } catch (error) {
    if (steps.isAborted) cancel()
    throw error
  }
  cancel()
  throw new StepFailed('timeout')
}

/** Tasks are beside the services. */
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

/** Some of several may have failed. */
const addressesOfTask = ({ results }: JsonRecord): string[] =>
  arrayOr(results)
    .map((result) => textOr(recordOr(result).url))
    .filter(Boolean)

const addressesInChoices = ({ choices }: JsonRecord): string[] =>
  arrayOr(choices)
    .flatMap((choice) => arrayOr(recordOr(recordOr(choice).message).content))
    .map((part) => textOr(recordOr(part).image))
    .filter(Boolean)

/** A task whose pictures have all failed says of each why. */
function noPicture({ results }: JsonRecord): StepAnswer {
  const reason = arrayOr(results)
    .map(recordOr)
    .find(({ code }) => typeof code === 'string')
  return reason === undefined ? unusable('no picture was made') : failedTask(reason)
}

const FILE_HOST = /\.aliyuncs\.com$/

/**
 * A picture's bytes in base64. An answer is believed about Alibaba's own storage and the channel's
 * own host, and about nothing else; the key stays here.
 */
async function bytesAt(steps: Steps, request: UpstreamRequest, address: string): Promise<string> {
  const place = URL.canParse(address) ? new URL(address) : null
  const isOwn = place?.origin === new URL(request.url).origin
  const isTheirs = place?.protocol === 'https:' && FILE_HOST.test(place.hostname)
  if (place === null || place.username !== '' || !(isOwn || isTheirs))
    throw new StepFailed('unreachable')
  const headers = { accept: '*/*', 'user-agent': 'Gatehouse' }
  const { seal: _seal, ...plain } = request
  const { status, body } = await steps.fetch({
    ...plain,
    url: place.href,
    method: 'GET',
    headers,
    body: null,
  })
  if (status !== 200) throw new StepFailed('cut')
  return body.toString('base64')
}
