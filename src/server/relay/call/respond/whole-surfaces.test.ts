import { describe, expect, test } from 'vitest'
import { forEachDatabase } from '../../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  eventually,
  expectNothingCharged,
  post,
  QUESTION,
  requestIdOf,
  startCall,
  type RelayClient,
  type RelayInput,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelaySetup } from '../../../test/use-relay.ts'

/**
 * The default policy for incomplete or unmetered responses, on every surface with whole responses.
 * Streams: ending.test.ts. Speech and transcription: audio-calls.test.ts.
 */

interface Row {
  path: string
  body: object
  /** Of the channel. */
  type: number
  /** Charge if the client leaves while the upstream is at work: the prompt, or the estimate. */
  left: number
  /** Charge for a response without usage, counted or estimated here. */
  counted: number
}

const CONTENT = { parts: [{ text: 'What is the answer?' }] }
const DOCUMENTS = { query: 'q', documents: ['a', 'b'] }
const PART = { model: 'models/MODEL', content: CONTENT }

const rows: Row[] = [
  {
    path: '/v1/chat/completions',
    body: { messages: QUESTION },
    type: 1,
    left: 12,
    counted: 12 + 6,
  },
  { path: '/v1/completions', body: { prompt: 'The answer is' }, type: 1, left: 3, counted: 3 + 2 },
  { path: '/v1/moderations', body: { input: 'hello' }, type: 1, left: 1, counted: 1 },
  { path: '/v1/rerank', body: DOCUMENTS, type: 1, left: 4, counted: 4 },
  { path: '/v1/responses', body: { input: 'hi' }, type: 1, left: 7, counted: 7 + 6 },
  { path: '/v1/responses/compact', body: { input: 'hi' }, type: 1, left: 7, counted: 7 },
  {
    path: '/v1/messages',
    body: { max_tokens: 99, messages: QUESTION },
    type: 14,
    left: 11,
    counted: 11 + 6,
  },
  // Vectors of the fake upstream are always counted, images are charged per image.
  { path: '/v1/embeddings', body: { input: ['a', 'b'] }, type: 1, left: 2, counted: 6 },
  {
    path: '/v1/engines/MODEL/embeddings',
    body: { input: ['a', 'b'] },
    type: 1,
    left: 2,
    counted: 6,
  },
  {
    path: '/v1/images/generations',
    body: { prompt: 'a cat' },
    type: 1,
    left: 1000,
    counted: 1000,
  },
  {
    path: '/v1beta/models/MODEL:generateContent',
    body: { contents: [CONTENT] },
    type: 24,
    left: 11,
    counted: 11 + 6,
  },
  {
    path: '/v1beta/models/MODEL:embedContent',
    body: { content: CONTENT },
    type: 24,
    left: 5,
    counted: 5,
  },
  {
    path: '/v1beta/models/MODEL:batchEmbedContents',
    body: { requests: [PART] },
    type: 24,
    left: 5,
    counted: 5,
  },
]

forEachDatabase('an answer in one piece', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { open })

  /** A call of a model that is served as the words say. */
  async function aCall({ path, body, type }: Row, words: string) {
    const client = await aClient(setup)
    const model = aModel(words)
    await aRoute(setup, model, { type })
    const text = JSON.stringify(path.includes('MODEL') ? body : { model, ...body })
    const input: RelayInput = { path: path.replace('MODEL', model) }
    return { client, body: text.replaceAll('MODEL', model), input }
  }

  const bookedFor = ({ userId }: RelayClient) =>
    eventually(
      () =>
        setup.database.read
          .selectFrom('ledger')
          .select('user_amount')
          .where('user_id', '=', userId)
          .where('kind', '=', 'consume')
          .executeTakeFirst(),
      'the booking',
    )

  describe.each(rows)('of $path', (row) => {
    test.each([
      ['never comes', 'fail-cut', 500],
      ['breaks off', 'cut-after-5', 502],
      ['is an error', 'error-200', 502],
    ])('that %s costs nothing', async (_what, words, status) => {
      const { client, body, input } = await aCall(row, words)
      const answer = await post(setup, client, body, input)
      // Anthropic and Gemini number the errors that they hide in a good answer.
      const isNumbered = words === 'error-200' && row.type !== 1
      if (!isNumbered) expect(answer.status).toBe(status)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      await expectNothingCharged(setup, client)
    })

    test('whose figures are missing is counted', async () => {
      const { client, body, input } = await aCall(row, 'no-usage')
      const answer = await post(setup, client, body, input)
      expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(row.counted)
    })

    test('whose client left is paid as far as it was caused', async () => {
      const { client, body, input } = await aCall(row, 'hang')
      setup.upstream.seen()
      const sent = startCall(setup, client, body, input)
      const seen = await eventually(() => setup.upstream.seen()[0], 'the call upstream')
      sent.destroy()
      await eventually(() => seen.outcome === 'client-gone', 'the end of the upstream call')
      expect((await bookedFor(client)).user_amount).toBe(-row.left)
    })
  })
})
