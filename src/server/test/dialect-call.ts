import type { Json, Speaker, Wish } from './dialect-clients.ts'
import {
  openCall,
  post,
  type RelayClient,
  type RelayInput,
  type RelaySetup,
} from './relay-setup.ts'

export interface Question {
  model: string
  wish?: Wish
  isStream: boolean
}

/**
 * Returns the path and headers of a dialect's client, with the key only where the dialect expects
 * it.
 */
export const callOf = (
  speaker: Speaker,
  client: Pick<RelayClient, 'key'>,
  { model, isStream }: Question,
): Required<RelayInput> => ({
  path: speaker.path(model, isStream),
  headers: { authorization: '', ...speaker.headers(client) },
})

/**
 * Sends a request like a client of the dialect, and parses the response like it. Throws for an
 * error response to a request without streaming.
 */
export async function ask(
  { setup, client }: { setup: RelaySetup; client: RelayClient },
  speaker: Speaker,
  question: Question,
) {
  const { model, wish = {}, isStream } = question
  const input = callOf(speaker, client, question)
  const body = speaker.body(model, wish, isStream)
  if (isStream) {
    const answer = await openCall(setup, client, body, input)
    await answer.ended
    return { answer, said: speaker.streamed(answer.text()) }
  }
  const answer = await post(setup, client, body, input)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.json))
  // A response is an object of its dialect.
  const said = speaker.whole(answer.json as unknown as Json)
  return { answer, said: { ...said, isComplete: true, error: '' } }
}
