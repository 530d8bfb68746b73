import type { ProviderCall, ProviderChannel } from '../../dialect/provider.ts'
import { parseJson, recordOr, textOr } from '../../json/json-value.ts'
import type { UpstreamRequest, Via } from '../../transport/upstream-call.ts'
import { inSteps, type StepAnswer, type Steps, type Walk } from '../../transport/upstream-steps.ts'
import { cancelledIfLeft, followed } from '../../providers/followed-work.ts'
import { namedEvents, namedEvent } from '../../providers/named-events.ts'
import { recordIn } from '../../transport/json-steps.ts'
import { askAbout, cancelOf, streamOf } from './address.ts'
import { drawn } from './pictures.ts'
import { isOver, PREDICTION } from './read-answer.ts'

/**
 * A prediction from its beginning to its end: it is created, and then followed by its stream or
 * asked about until it is over. Sources: Replicate's HTTP API reference, "Create a prediction",
 * "Get a prediction", "Cancel a prediction"; "Streaming output".
 */
export function replicateVia(_channel: ProviderChannel, { task, isStream }: ProviderCall): Via {
  if (task === 'images') return inSteps(drawn(finishedPrediction))
  return inSteps(isStream ? streamedPrediction : finishedPrediction)
}

/** A prediction whose result comes with its last answer. */
const finishedPrediction: Walk = async (steps, request) => {
  const created = await steps.fetch(request)
  if (!isGood(created)) return created
  return untilOver(steps, request, { created, limitMs: request.firstByteTimeoutMs })
}

const isGood = ({ status }: StepAnswer): boolean => status >= 200 && status < 300

/** The answer that says how it ended. */
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

/** What a model may take that streams nothing, where its client has asked for a stream. */
const UNSTREAMED_MS = 600_000

/** A prediction whose text comes as it is written; its figures follow when it is over. */
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

/** What a client waits for figures at most, when it has all of its text. */
const FIGURES_MS = 5000

/** A stream that has come whole is whole, whether its figures can be had or not. */
async function addFigures(steps: Steps, asking: UpstreamRequest): Promise<void> {
  const limits = { firstByteTimeoutMs: FIGURES_MS, idleTimeoutMs: FIGURES_MS }
  const answer = await steps.fetch({ ...asking, ...limits }).catch(() => null)
  if (answer === null || !isGood(answer)) return
  const { metrics } = recordIn(answer)
  steps.add(
    Buffer.from(`event: ${PREDICTION}\ndata: ${JSON.stringify({ metrics: metrics ?? null })}\n\n`),
  )
}
