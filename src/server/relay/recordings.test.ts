import { expect, test } from 'vitest'
import { differences } from '../../../tools/replay/compare.ts'
import {
  loadKnownDifferences,
  loadRecording,
  type Recording,
} from '../../../tools/replay/recording.ts'
import { describeDifferences, replay } from '../../../tools/replay/replay.ts'
import { runRecording } from '../../../tools/replay/run-recording.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startRelay } from '../test/relay-setup.ts'
import { ROOT_PASSWORD } from '../test/test-app.ts'

/** Responses and upstream requests of a real One API server, compared with this server's. */

const SETTINGS = { OPTIONS_MIN_ROLE: '100' }

/** The recorded server booked a moment after its answer; ours has booked when it answers. */
const withoutWaits = (recording: Recording): Recording => ({
  ...recording,
  steps: recording.steps.map(({ wait: _wait, ...step }) => step),
})

const NAMES = ['account', 'channels', 'public', 'redemptions', 'relay', 'tokens', 'users']

forEachDatabase('recorded calls', (open) => {
  test.each(NAMES)('of %s are answered as they were', async (name) => {
    const setup = await startRelay(open, SETTINGS)
    await setup.app.options.set('DefaultModelRatio', '')
    const unexplained = await replay({
      base: setup.url,
      upstream: setup.upstream.url,
      rootPassword: ROOT_PASSWORD,
      recording: withoutWaits(loadRecording(name)),
      known: loadKnownDifferences(),
    })
    expect(describeDifferences(unexplained)).toBe('')
    expect(setup.faults).toEqual([])
    await setup.close()
  })
})

test('the upstream receives what it received from a real One API server', async () => {
  const setup = await startRelay(undefined, SETTINGS)
  const { steps } = withoutWaits(loadRecording('relay'))
  const variables = { upstream: setup.upstream.url, rootPassword: ROOT_PASSWORD }
  const ran = await runRecording({ base: setup.url, steps, variables })
  await setup.close()
  const watched = ran.filter(({ upstream }) => upstream === true)
  expect(watched.length).toBeGreaterThan(5)
  for (const [index, { name, answer, got }] of watched.entries()) {
    const sent = sentCalls(got.upstream)
    const recorded = sentCalls(answer.upstream)
    // The list begins with calls of other recordings on the same upstream.
    const want = index === 0 ? recorded.slice(-sent.length) : recorded
    expect([name, differences(want, sent, { at: name })]).toEqual([name, []])
  }
})

interface SentCall {
  method: string
  url: string
  authorization: string
  body: unknown
}

/** Calls as the upstream remembers them, without what is each sender's own business. */
function sentCalls(upstream: unknown): SentCall[] {
  if (!Array.isArray(upstream)) return []
  // Both the recorder's and our fake upstream keep them in this shape.
  const calls = upstream as {
    method: string
    url: string
    headers: Record<string, string>
    body: unknown
  }[]
  return calls.map(({ method, url, headers, body }) => ({
    method,
    url,
    authorization: headers['authorization'] ?? '',
    body,
  }))
}
