import { afterAll, beforeAll, expect, test } from 'vitest'
import { channelType } from '../../contract/channel-types.ts'
import { loadRecording, loadUpstreamDifferences } from '../../../tools/replay/recording.ts'
import { runRecording, type RanStep } from '../../../tools/replay/run-recording.ts'
import { explains, sentDifferences, type SentCall } from '../../../tools/replay/sent-upstream.ts'
import { startRelay, type RelaySetup } from '../test/relay-setup.ts'
import { ROOT_PASSWORD } from '../test/test-app.ts'

/**
 * What channels of each type send to their upstream, beside what a real One API server sent for the
 * same calls. What differs is listed with its reason, and the list must not outlive its reasons.
 */

let setup: RelaySetup
let ran: RanStep[]
beforeAll(async () => {
  // The default of the recorded server.
  const settings = { OPTIONS_MIN_ROLE: '100', GEMINI_SAFETY_SETTING: 'BLOCK_NONE' }
  setup = await startRelay(undefined, settings)
  // The recorded server booked a moment after its answer; ours has booked when it answers.
  const steps = loadRecording('upstreams').steps.map(({ wait: _wait, ...step }) => step)
  const variables = { upstream: setup.upstream.url, rootPassword: ROOT_PASSWORD }
  ran = await runRecording({ base: setup.url, steps, variables })
})
afterAll(() => setup.close())

// Both the recorder's and our fake upstream keep them in this shape.
const callsIn = (upstream: unknown): SentCall[] => (upstream ?? []) as SentCall[]

/** Type and kind of call: `type 24, stream`. */
const NAME = /^type (\d+), (plain|stream)$/

function differencesFound() {
  return ran.flatMap(({ name, answer, got }) => {
    const [, type, step = ''] = NAME.exec(name) ?? []
    if (type === undefined) return []
    return sentDifferences(callsIn(answer.upstream), callsIn(got.upstream)).map((difference) => ({
      type: Number(type),
      step,
      ...difference,
    }))
  })
}

test('calls of every recorded type are made again', () => {
  const types = new Set(ran.flatMap(({ name }) => NAME.exec(name)?.[1] ?? []))
  expect(types.size).toBeGreaterThan(45)
  expect([...types].filter((type) => channelType(Number(type)).color === 'grey')).toEqual([])
})

test('every difference has its reason', () => {
  const entries = loadUpstreamDifferences()
  const unexplained = differencesFound().filter(
    (difference) => !entries.some((entry) => explains(entry, difference)),
  )
  const lines = unexplained.map(
    ({ type, step, at, want, got }) =>
      `type ${type}, ${step}: ${at}: recorded ${JSON.stringify(want)}, sent ${JSON.stringify(got)}`,
  )
  expect(lines).toEqual([])
})

test('every reason has its difference, in each type that it names', () => {
  const differences = differencesFound()
  const unused = loadUpstreamDifferences().flatMap((entry) =>
    entry.types
      .filter((type) => !differences.some((found) => found.type === type && explains(entry, found)))
      .map((type) => `type ${type}: ${entry.at}: ${entry.reason}`),
  )
  expect(unused).toEqual([])
})

test('Gemini receives the safety threshold', () => {
  const step = ran.find(({ name }) => name === 'type 24, plain')
  const threshold = 'BLOCK_NONE'
  expect(callsIn(step?.got.upstream)[0]?.body).toHaveProperty('safetySettings[0]', {
    category: 'HARM_CATEGORY_HARASSMENT',
    threshold,
  })
})

/** The fake Cloudflare does not have the recorded account. */
const OTHER_UPSTREAM = 'type 37'

test('what the recorded server got answered is answered here', () => {
  const refused = ran
    .filter(({ name, answer }) => NAME.test(name) && answer.status === 200)
    .filter(({ name, got }) => got.status !== 200 && !name.startsWith(OTHER_UPSTREAM))
  expect(refused.map(({ name, got }) => [name, got.status, got.body])).toEqual([])
})
