import { changedEvents, eventOf, serverSentEvents, type Wire } from '../../transport/wire.ts'
import { arrayOr, isRecord, parseJson } from '../../json/json-value.ts'
import type { Walk } from '../../transport/upstream-steps.ts'

/**
 * Maps Zhipu's own finish reasons to OpenAI's. A third one, `network_error`, is an error
 * (`errorOf`). Source: Zhipu's API reference, "Chat completion", `finish_reason`.
 */
const KNOWN: ReadonlyMap<unknown, string> = new Map([
  ['sensitive', 'content_filter'],
  ['model_context_window_exceeded', 'length'],
])
/** Byte patterns of these reasons; inside a text their quotes would be escaped. */
const OWN_WORDS = [...KNOWN.keys()].map((word) => `"${String(word)}"`)

export const zhipuWire: Wire = changedEvents(serverSentEvents, (event) => {
  const data = event.data === null ? null : inKnownWords(event.data)
  return data === null ? event : eventOf(data, event.name, event.isTerminated)
})

/** Converts a whole response. */
export const answerWalk: Walk = async (steps, request) => {
  const answer = await steps.fetch(request)
  return { ...answer, body: inKnownWords(answer.body) ?? answer.body }
}

/** Null if the response contains only OpenAI's finish reasons. */
function inKnownWords(bytes: Buffer): Buffer | null {
  if (!OWN_WORDS.some((word) => bytes.includes(word))) return null
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return null
  const choices = arrayOr(answer.choices).map(withKnownFinish)
  return Buffer.from(JSON.stringify({ ...answer, choices }))
}

function withKnownFinish(choice: unknown): unknown {
  const known = isRecord(choice) ? KNOWN.get(choice.finish_reason) : undefined
  return known === undefined ? choice : { ...Object(choice), finish_reason: known }
}
