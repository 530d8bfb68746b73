import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import { parseJson, recordOr, textOr } from '../../json/json-value.ts'
import type { UpstreamRequest, Via } from '../../transport/upstream-call.ts'
import { inSteps, type StepAnswer, type Steps, type Walk } from '../../transport/upstream-steps.ts'
import { cancelledIfLeft, followed } from '../shared/followed-work.ts'
import { namedEvents, namedEvent } from '../shared/named-events.ts'
import { recordIn } from '../../transport/json-steps.ts'
import { askAbout, cancelOf, streamOf } from './address.ts'
import { drawn } from './images.ts'
import { isOver, PREDICTION } from './read-answer.ts'

/**
 * Runs a prediction: creates it, then reads its stream or polls it until it ends. Sources:
 * Replicate's HTTP API reference, "Create a prediction", "Get a prediction", "Cancel a prediction";
 * "Streaming output".
 */
export function replicateVia(_channel: ProviderChannel, { task, isStream }: ProviderCall): Via {
  if (task === 'images') return inSteps(drawn(finishedPrediction))
  return inSteps(isStream ? streamedPrediction : finishedPrediction)
}

/** A prediction whose result is in its final response. */
const finishedPrediction: Walk = async (steps, request) => {
  const created = await steps.fetch(request)
  if (!isGood(created)) return created
  return untilOver(steps, request, { created, limitMs: request.firstByteTimeoutMs })
}

const isGood = ({ status }: StepAnswer): boolean => status >= 200 && status < 300

/** Polls a prediction until it ends, and returns the last response. */
async function untilOver(
  steps: Steps,
  request: UpstreamRequest,
  { created, limitMs }: { created: StepAnswer; limitMs: number },
): Promise<StepAnswer> {
  const asking = askAbout(request, textOr(recordIn(created).id))
  // Predictions are created with 201 or 202.
  if (asking === null || isOver(recordIn(created))) return { ...created, status: 200 }
  const isEnd = (answer: StepAnswer): boolean => isOver(recordIn(answer))
  return followed(steps, { asking, cancel: cancelOf(asking), limitMs, isOver: isEnd })
}

/** Timeout of a model without streaming, if the client requested a stream, in ms. */
const UNSTREAMED_MS = 600_000

/** A streamed prediction; its usage is requested after it ends. */
const streamedPrediction: Walk = async (steps, request) => {
  const created = await steps.fetch(request)
  if (!isGood(created)) return created
  const { id, urls } = recordIn(created)
  const asking = askAbout(request, textOr(id))
  const stream = asking === null ? null : streamOf(asking, recordOr(urls).stream)
  if (asking === null || stream === null) {
    return untilOver(steps, request, { created, limitMs: UNSTREAMED_MS })
  }

  let isDone = false
  const reader = namedEvents.reader()
  const cancel = cancelOf(asking)
  await cancelledIfLeft(steps, { cancel }, () =>
    steps.pass(stream, (chunk) => {
      isDone ||= reader.push(chunk).some(isLast)
      return isDone
    }),
  )
  if (isDone) await addFigures(steps, asking)
  else steps.tell(cancel)
  return null
}

const isLast = ({ data }: { data: Buffer | null }): boolean =>
  data !== null && namedEvent(parseJson(data.toString('utf8'))).name === 'done'

/** Maximum time in ms to wait for the usage after the client has received the whole text. */
const FIGURES_MS = 5000

/** Adds the usage. A stream that is complete stays complete even without its usage. */
async function addFigures(steps: Steps, asking: UpstreamRequest): Promise<void> {
  const limits = { firstByteTimeoutMs: FIGURES_MS, idleTimeoutMs: FIGURES_MS }
  const answer = await steps.fetch({ ...asking, ...limits }).catch(() => null)
  if (answer === null || !isGood(answer)) return
  const { metrics } = recordIn(answer)
  steps.add(
    Buffer.from(`event: ${PREDICTION}\ndata: ${JSON.stringify({ metrics: metrics ?? null })}\n\n`),
  )
}
