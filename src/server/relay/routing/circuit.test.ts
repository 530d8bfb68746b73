import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RelayError } from '../protocols/dialect/relay-error.ts'
import type { RoutableChannel } from './choose-channel.ts'
import { Circuit, FAILURES_TO_OPEN, OPEN_MS, OPEN_MS_MAX, PROBE_MS, WINDOW_MS } from './circuit.ts'
import { createChannelHealth, type AttemptResult } from './health.ts'
import {
  RETRY_AFTER_SECONDS_MAX,
  retryAfterOf,
  retryAfterSeconds,
  retryDelayOf,
} from '../transport/retry-after.ts'

function failed(times: number, atMs = 0): Circuit {
  const circuit = new Circuit()
  for (let time = 0; time < times; time += 1) circuit.fail(atMs, atMs)
  return circuit
}

describe('a circuit breaker', () => {
  test('opens at the failure threshold, and admits no call until its time is over', () => {
    expect(failed(FAILURES_TO_OPEN - 1).admits(0)).toBe(true)
    const open = failed(FAILURES_TO_OPEN)
    expect([0, OPEN_MS - 1, OPEN_MS].map((ms) => open.admits(ms))).toEqual([false, false, true])
  })

  test('stays closed while more calls succeed than fail', () => {
    const circuit = failed(1)
    for (let call = 0; call < 50; call += 1) circuit.succeed(call)
    for (let call = 0; call < 48; call += 1) circuit.fail(call, call)
    expect(circuit.admits(50)).toBe(true)
    circuit.fail(50, 50)
    expect(circuit.admits(51)).toBe(false)
  })

  test('is suspect from a failure until a call succeeds', () => {
    const circuit = failed(1)
    expect(circuit.isSuspect).toBe(true)
    circuit.succeed(1)
    expect(circuit.isSuspect).toBe(false)
    const open = failed(FAILURES_TO_OPEN)
    expect(open.isSuspect).toBe(true)
    open.succeed(OPEN_MS)
    expect(open.isSuspect).toBe(false)
  })

  test('counts failures of one window only', () => {
    const circuit = failed(FAILURES_TO_OPEN - 1)
    circuit.fail(WINDOW_MS + 1, WINDOW_MS + 1)
    expect(circuit.admits(WINDOW_MS + 1)).toBe(true)
    expect(circuit.isIdle(WINDOW_MS + 2)).toBe(false)
    expect(circuit.isIdle(2 * WINDOW_MS + 2)).toBe(true)
  })

  test('admits one call when half open, and another if the first does not return', () => {
    const circuit = failed(FAILURES_TO_OPEN)
    circuit.begin(OPEN_MS)
    expect(circuit.admits(OPEN_MS)).toBe(false)
    expect(circuit.admits(OPEN_MS + PROBE_MS)).toBe(true)
    circuit.giveBack()
    expect(circuit.admits(OPEN_MS)).toBe(true)
  })

  test('a successful probe closes it, a failed one opens it for twice as long', () => {
    const circuit = failed(FAILURES_TO_OPEN)
    circuit.begin(OPEN_MS)
    circuit.fail(OPEN_MS, OPEN_MS + 5)
    expect(circuit.admits(OPEN_MS + 4 + 2 * OPEN_MS)).toBe(false)
    expect(circuit.admits(OPEN_MS + 5 + 2 * OPEN_MS)).toBe(true)
    circuit.succeed(OPEN_MS + 5 + 2 * OPEN_MS)
    expect(circuit.admits(0)).toBe(true)
    expect(failed(FAILURES_TO_OPEN - 1).admits(0)).toBe(true)
  })

  test('a probe that breaks off after its success opens it again for twice as long', () => {
    const circuit = failed(FAILURES_TO_OPEN)
    circuit.begin(OPEN_MS)
    circuit.succeed(OPEN_MS)
    expect(circuit.admits(OPEN_MS)).toBe(true)
    circuit.begin(OPEN_MS + 1)
    circuit.succeed(OPEN_MS + 1)
    const brokenMs = OPEN_MS + WINDOW_MS / 2
    circuit.fail(OPEN_MS, brokenMs, { wasWell: true })
    expect(circuit.admits(brokenMs + 2 * OPEN_MS - 1)).toBe(false)
    expect(circuit.admits(brokenMs + 2 * OPEN_MS)).toBe(true)
  })

  test('a call that breaks off after its success counts as one failure', () => {
    const circuit = failed(1)
    for (let call = 1; call <= 9; call += 1) circuit.succeed(call)
    for (let call = 1; call <= 3; call += 1) circuit.fail(call, 10, { wasWell: true })
    expect(circuit.admits(10)).toBe(true)
    // Five of ten calls have failed.
    circuit.fail(4, 10, { wasWell: true })
    expect(circuit.admits(11)).toBe(false)
  })

  test('repeatedly failing probes open it for at most the longest time', () => {
    const circuit = failed(FAILURES_TO_OPEN)
    let nowMs = 0
    for (let probe = 0; probe < 10; probe += 1) {
      nowMs += OPEN_MS_MAX
      circuit.begin(nowMs)
      circuit.fail(nowMs, nowMs)
    }
    expect(circuit.admits(nowMs + OPEN_MS_MAX - 1)).toBe(false)
    expect(circuit.admits(nowMs + OPEN_MS_MAX)).toBe(true)
  })

  test('late results of calls from before it opened change nothing', () => {
    const circuit = failed(FAILURES_TO_OPEN, 100)
    circuit.succeed(99)
    circuit.fail(99, 100 + OPEN_MS)
    expect(circuit.admits(99 + OPEN_MS)).toBe(false)
    expect(circuit.admits(100 + OPEN_MS)).toBe(true)
  })

  test('always admits a call again within the longest time', () => {
    const event = fc.record({
      kind: fc.constantFrom('begin', 'fail', 'succeed', 'giveBack'),
      afterMs: fc.nat({ max: 2 * OPEN_MS }),
      tookMs: fc.nat({ max: WINDOW_MS }),
      wasWell: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const circuit = new Circuit()
        let nowMs = WINDOW_MS
        for (const { kind, afterMs, tookMs, wasWell } of events) {
          nowMs += afterMs
          if (kind === 'begin') circuit.begin(nowMs)
          else if (kind === 'fail') circuit.fail(nowMs - tookMs, nowMs, { wasWell })
          else if (kind === 'succeed') circuit.succeed(nowMs - tookMs)
          else circuit.giveBack()
        }
        expect(circuit.admits(nowMs + OPEN_MS_MAX + PROBE_MS)).toBe(true)
      }),
    )
  })
})

describe('failures of a channel', () => {
  // Only what is looked at: the rest of a channel does not matter here.
  const channel = { id: 1, keyId: '' } as unknown as RoutableChannel
  const words = { message: '', type: '', param: '', code: '' }
  const error: RelayError = { status: 503, ...words, kind: 'upstream' }
  const failure = { kind: 'failed', cause: 'status' } as const

  function healthAt(startMs: number) {
    const clock = { ms: startMs }
    const health = createChannelHealth({ nowMs: () => clock.ms, monotonicMs: () => clock.ms })
    return { health, clock }
  }

  test.each<[string, AttemptResult, boolean]>([
    ['one that goes well does', { kind: 'well' }, true],
    [
      'one whose request the upstream finds fault with does',
      { kind: 'failed', cause: 'status', error: { status: 400, ...words, kind: 'request' } },
      true,
    ],
    ['one that we have ended does not', { kind: 'failed', cause: 'ended', error }, false],
    ['one whose client has left does not', { kind: 'unknown' }, false],
  ])('after a failure, the next call clears it: %s', (_what, result, isOver) => {
    const { health, clock } = healthAt(WINDOW_MS)
    health.begin(channel, 'm', clock.ms)({ ...failure, error })
    health.begin(channel, 'm', clock.ms)(result)
    expect(health.isSuspect(channel, 'm')).toBe(!isOver)
  })

  test('a successful call admits others before it ends', () => {
    const { health, clock } = healthAt(WINDOW_MS)
    for (let time = 0; time < FAILURES_TO_OPEN; time += 1) {
      health.begin(channel, 'm', clock.ms)({ ...failure, error })
    }
    clock.ms += OPEN_MS
    const tell = health.begin(channel, 'm', clock.ms)
    expect(health.admits(channel, 'm')).toBe(false)
    tell({ kind: 'well' })
    expect(health.admits(channel, 'm')).toBe(true)
    expect(health.isSuspect(channel, 'm')).toBe(false)
  })

  test.each<[string, AttemptResult, string, boolean]>([
    ['its end', { kind: 'well' }, 'm', true],
    ['a cut connection', { kind: 'broken', by: 'network' }, 'other', false],
    ['silence', { kind: 'broken', by: 'timeout' }, 'm', false],
    ['silence, of another model', { kind: 'broken', by: 'timeout' }, 'other', true],
    ['an error', { ...failure, error }, 'm', false],
    ['an error, of another model', { ...failure, error }, 'other', true],
  ])('calls that began well count by what came then: %s', (_what, result, model, admits) => {
    const { health, clock } = healthAt(WINDOW_MS)
    const calls = Array.from({ length: 2 * FAILURES_TO_OPEN }, (_, index) =>
      health.begin(channel, 'm', clock.ms + index),
    )
    for (const tell of calls) tell({ kind: 'well' })
    // Half of them also end well; that does not count as a second success.
    for (const [index, tell] of calls.entries()) tell(index % 2 === 0 ? { kind: 'well' } : result)
    expect(health.admits(channel, model)).toBe(admits)
  })

  test.each([
    ['timeout', 'm', false],
    ['timeout', 'other', true],
    ['network', 'other', false],
  ] as const)('%s is about channel or model: calls for %s may go: %s', (cause, model, admits) => {
    const { health, clock } = healthAt(WINDOW_MS)
    for (let time = 0; time < FAILURES_TO_OPEN; time += 1) {
      health.begin(channel, 'm', clock.ms)({ ...failure, cause, error })
    }
    expect(health.admits(channel, model)).toBe(admits)
  })

  test('an open circuit is dropped long after it would admit a call', () => {
    const { health, clock } = healthAt(WINDOW_MS)
    for (let time = 0; time < FAILURES_TO_OPEN; time += 1) {
      health.begin(channel, 'm', clock.ms)({ ...failure, error })
    }
    expect(health.admits(channel, 'm')).toBe(false)
    clock.ms += OPEN_MS + OPEN_MS_MAX
    expect(health.isCalm()).toBe(false)
    clock.ms += WINDOW_MS
    expect(health.isCalm()).toBe(true)
  })

  test('a Retry-After is dropped when it is over', () => {
    const { health, clock } = healthAt(WINDOW_MS)
    health.begin(channel, 'm', clock.ms)({ ...failure, error: { ...error, retryAfter: '20' } })
    expect(health.waitSeconds(channel, 'm')).toBe(20)
    expect(health.isCalm()).toBe(false)
    clock.ms += WINDOW_MS + 1
    expect(health.isCalm()).toBe(true)
  })
})

describe('Retry-After', () => {
  const NOW_MS = Date.UTC(2026, 0, 1, 12)
  test.each([
    ['seconds', '7', 7],
    ['a fraction, rounded up', '0.2', 1],
    ['a date', 'Thu, 01 Jan 2026 12:00:30 GMT', 30],
    ['a date that is over', 'Thu, 01 Jan 2026 11:00:00 GMT', 0],
    ['longer than anybody is believed', '999999', RETRY_AFTER_SECONDS_MAX],
    ['nothing', undefined, 0],
    ['no time at all', 'soon', 0],
    ['a negative number', '-5', 0],
  ])('%s', (_what, header, seconds) => {
    expect(retryAfterSeconds(header, NOW_MS)).toBe(seconds)
  })

  test.each([
    [{ 'retry-after-ms': '1500' }, '2'],
    [{ 'retry-after': '9', 'retry-after-ms': '1500' }, '9'],
    [{ 'retry-after-ms': 'soon' }, undefined],
    [{}, undefined],
  ])('is asked for by %j', (headers, expected) => {
    expect(retryAfterOf(headers)).toBe(expected)
  })

  test.each([
    ['0.5s', '1'],
    ['34.074824224s', '35'],
    ['60s', '60'],
    ['soon', undefined],
  ])('is asked for by an error’s delay of %s', (retryDelay, expected) => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }]
    expect(retryDelayOf(details)).toBe(expected)
  })
})
