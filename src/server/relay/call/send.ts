import { isWell, type AttemptOutcome } from '../errors/attempt-outcome.ts'
import { convertedError } from '../errors/client-error.ts'
import { resultOf } from '../routing/health.ts'
import { relayStream } from './respond/respond-stream.ts'
import { relayWhole } from './respond/respond-whole.ts'
import type { Call, RelayParts } from './call.ts'
import { beginAttemptSpan, endAttemptSpan, sendTraceContext } from './call-span.ts'
import { relayRecording } from './respond/respond-sound.ts'
import { mayHaveSecondForm, sendSecondForm } from './second-form.ts'
import { noteAnswer, noteAttempt, noteBroken } from './watch.ts'

/** Sends the attempt and records its result for channel health, metrics and trace. */
export async function sendAttempt(parts: RelayParts, call: Call): Promise<AttemptOutcome> {
  const { attempt } = call
  const { channel, modelName, isTrial } = attempt
  const beganMs = parts.app.clock.monotonicMs()
  const tell = parts.health.begin(channel, modelName, beganMs)
  if (call.span !== null) beginAttemptSpan(call.span, attempt)
  const onBegin = (): void => tell({ kind: 'well' })
  const recorded = parts.recorder.isOn ? withRecording(parts, call) : parts
  const outcome = await answered(recorded, call, onBegin)
  tell(resultOf(outcome))
  if (call.span !== null) endAttemptSpan(call.span, outcome)
  const isTold = outcome.kind !== 'abandoned' && !isWell(outcome)
  if (isTrial || call.trail !== null || isTold) {
    noteAttempt(parts, call, { outcome, beganMs })
  }
  if (outcome.kind === 'answered') {
    const { broken = null, said = null } = outcome
    if (broken === null) noteAnswer(parts, call)
    else noteBroken(parts, call, { broken, said })
  }
  return outcome
}

/** Returns the relay parts that record this attempt. */
function withRecording(parts: RelayParts, call: Call): RelayParts {
  const { caller, input, attempt } = call
  const egress = parts.recorder.tapped(parts.egress, call, {
    caller,
    channel: attempt.channel,
    body: input.form?.bytes ?? input.body.bytes,
    modelRequested: input.model,
    modelSent: attempt.modelName,
  })
  return { ...parts, egress }
}

/** Asks the channel, and once more in another form if its refusal calls for one. */
async function answered(
  parts: RelayParts,
  call: Call,
  onBegin: () => void,
): Promise<AttemptOutcome> {
  const send = (): Promise<AttemptOutcome> => respond(parts, call, onBegin)
  const outcome = await send()
  if (outcome.kind !== 'failed' || !mayHaveSecondForm(call, outcome)) return outcome
  return sendSecondForm(parts, call, outcome, send)
}

/** Sends the planned request and relays the response. */
async function respond(
  parts: RelayParts,
  call: Call,
  onBegin: () => void,
): Promise<AttemptOutcome> {
  const { attempt, figures, input } = call
  call.notes = attempt.notes
  if (call.span !== null && parts.app.config.RELAY_TRACEPARENT) sendTraceContext(call, call.span)
  if (figures.isRecording === true) return relayRecording(parts, call, onBegin)
  const outcome = figures.isStream
    ? await relayStream(parts, call, onBegin)
    : await relayWhole(parts, call)
  if (outcome.kind !== 'failed') return outcome
  const { error } = outcome
  const told =
    attempt.convert === null
      ? { ...error, tooLong: undefined }
      : convertedError(error, input.surface.dialect)
  return { ...outcome, error: told }
}
