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

/** Where a client of a dialect calls, with its key where the dialect puts it and nowhere else. */
export const callOf = (
  speaker: Speaker,
  client: Pick<RelayClient, 'key'>,
  { model, isStream }: Question,
): Required<RelayInput> => ({
  path: speaker.path(model, isStream),
  headers: { authorization: '', ...speaker.headers(client) },
})

/**
 * Asks as a client of a dialect does, and reads the answer as it does. Throws when an answer that
 * is no stream is refused.
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
  // An answer is an object of its dialect.
  const said = speaker.whole(answer.json as unknown as Json)
  return { answer, said: { ...said, isComplete: true, error: '' } }
}
