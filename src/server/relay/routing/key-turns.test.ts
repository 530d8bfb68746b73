import { describe, expect, test } from 'vitest'
import { kindOf } from '../errors/verdict.ts'
import type { KeyPause, RoutableChannel } from './choose-channel.ts'
import { all, createKeyTurns, mayUseOtherKey } from './key-turns.ts'
import { NEVER_TRIED_SECONDS } from '../../channel/channel-pause-store.ts'
import { sha256 } from '../../secrets.ts'

const NOW = 1_800_000_000
const TRIAL_DELAY = 300

/** Only these members are read. */
function channel(pauses: (KeyPause | null)[]): RoutableChannel {
  const made = { id: 7, keyId: '', keyed: [], pause: null } as unknown as RoutableChannel
  made.keyed = pauses.map((pause, index) => ({ ...made, keyId: `k${index}`, pause }))
  return made
}

function turnsAt(start: number) {
  const trials: string[] = []
  const clock = { now: start }
  const turns = createKeyTurns(
    () => clock.now,
    TRIAL_DELAY,
    ({ keyId }, dueAt) => trials.push(`${keyId} ${dueAt}`),
  )
  return { turns, trials, clock }
}

const nameOf = (one: RoutableChannel | null): string | null => one && one.keyId
const out = (nextTrialSeconds: number): KeyPause => ({ nextTrialSeconds })

test('returns a channel with one key unchanged', () => {
  const { turns } = turnsAt(NOW)
  const single = channel([])
  expect(turns.next(single, [])).toBe(single)
  expect(turns.hasNext(single, [], () => false)).toBe(false)
})

test('rotates keys, without those that are paused, used or not admitted', () => {
  const { turns } = turnsAt(NOW)
  const made = channel([null, out(NOW + 1), null, null])
  const next = (...input: [RoutableChannel[]?, string?]) =>
    nameOf(turns.next(made, input[0] ?? [], (one) => one.keyId !== input[1]))
  expect(turns.hasNext(made, [], () => true)).toBe(true)
  expect([next(), next(), next(), next()]).toEqual(['k0', 'k2', 'k3', 'k0'])
  expect(next([], 'k2')).toBe('k3')
  expect(next(made.keyed.filter(({ keyId }) => keyId === 'k0'))).toBe('k2')
  expect(next([...made.keyed])).toBeNull()
})

test('a paused key is tried by one call when due, and by the next after the delay', () => {
  const { turns, trials, clock } = turnsAt(NOW)
  const made = channel([out(NOW), null])
  const next = () => nameOf(turns.next(made, []))
  expect([next(), next(), next()]).toEqual(['k0', 'k1', 'k1'])
  expect(trials).toEqual([`k0 ${NOW}`])
  clock.now += TRIAL_DELAY
  expect(next()).toBe('k0')
})

test('a key that was paused by a clock that was ahead is tried immediately', () => {
  const { turns, trials } = turnsAt(NOW)
  const made = channel([out(NOW + 30 * 86_400), null])
  const next = () => nameOf(turns.next(made, []))
  expect([next(), next(), next()]).toEqual(['k0', 'k1', 'k1'])
  expect(trials).toEqual([`k0 ${NOW + 30 * 86_400}`])
})

test('a key that was paused manually is not tried', () => {
  const { turns, trials } = turnsAt(NOW)
  const made = channel([out(NEVER_TRIED_SECONDS), null])
  const next = () => nameOf(turns.next(made, []))
  expect([next(), next()]).toEqual(['k1', 'k1'])
  expect(trials).toEqual([])
})

test('a preferred key is used unless it is used already, not admitted or paused', () => {
  const { turns, trials } = turnsAt(NOW)
  const made = channel([null, null, null, out(NOW)])
  const next = (keyId: string, used: RoutableChannel[] = [], channelId = made.id) =>
    nameOf(
      turns.next(made, used, (one) => one.keyId !== 'k2', {
        place: { channelId, keyId },
        conversation: null,
      }),
    )
  expect([next('k1'), next('k1'), next('k0')]).toEqual(['k1', 'k1', 'k0'])
  expect(trials).toEqual([])
  expect(next('k1', made.keyed.slice(1, 2))).toBe('k0')
  expect(next('k0', [], made.id + 1)).toBe('k1')
  expect(next('k2')).toBe('k3')
  expect(next('k3')).toBe('k0')
})

describe('a conversation', () => {
  const NAMES = Array.from({ length: 50 }, (_, index) => sha256(String(index)))
  function keyed(pauses: (KeyPause | null)[]): RoutableChannel {
    const made = channel(pauses)
    made.keyed = made.keyed.map((one) => ({ ...one, keyId: sha256(one.keyId).slice(0, 16) }))
    return made
  }
  const homesIn = (made: RoutableChannel, used: RoutableChannel[] = []) => {
    const { turns } = turnsAt(NOW)
    const next = (conversation: string) =>
      nameOf(turns.next(made, used, undefined, { place: null, conversation }))
    return NAMES.map((name) => [next(name), next(name)] as const)
  }

  test('has the same key in every process, and all keys are used', () => {
    const made = keyed([null, null, null])
    const homes = homesIn(made)
    expect(homesIn(made)).toEqual(homes)
    for (const [first, second] of homes) expect(second).toBe(first)
    expect(new Set(homes.flat()).size).toBe(3)
  })

  test('uses another key only if its own is used or paused', () => {
    const made = keyed([null, null, null])
    const homes = homesIn(made)
    const [gone] = made.keyed
    const elsewhere = homesIn(made, made.keyed.slice(0, 1))
    if (gone !== undefined) gone.pause = out(NOW + 9)
    expect(homesIn(made)).toEqual(elsewhere)
    for (const [index, [home]] of homes.entries()) {
      if (home === gone?.keyId) expect(elsewhere[index]).not.toContain(home)
      else expect(elsewhere[index]).toEqual([home, home])
    }
  })

  test('does not change the rotation, and tries a paused key that is due', () => {
    const made = keyed([out(NOW), null, null])
    const [due, ...rest] = made.keyed.map(({ keyId }) => keyId)
    const { turns, trials } = turnsAt(NOW)
    for (const conversation of NAMES) turns.next(made, [], all, { place: null, conversation })
    expect(trials).toEqual([`${due} ${NOW}`])
    const next = () => nameOf(turns.next(made, []))
    expect([next(), next(), next()]).toEqual([rest[0], rest[1], rest[0]])
  })
})

test('if all keys are paused they are used, each once per call', () => {
  const { turns, trials } = turnsAt(NOW)
  const made = channel([out(NOW + 9), out(NOW + 9)])
  expect([nameOf(turns.next(made, [])), nameOf(turns.next(made, []))]).toEqual(['k0', 'k1'])
  expect(turns.next(made, made.keyed.slice(0, 1))).toBeNull()
  expect(turns.hasNext(made, [], () => true)).toBe(false)
  expect(turns.hasLast(made, [], () => true)).toBe(true)
  expect(trials).toEqual([])
})

describe('a failed call tries another key', () => {
  const made = channel([null, null, out(NOW + 9)])
  const [first, second] = made.keyed
  const failed = (status: number, code = '') => {
    const error = { status, code, message: '', type: '', param: '' }
    const kind = kindOf({
      ...error,
      isOurs: false,
      isAboveAccountLimit: false,
      isMisplaced: false,
    })
    return { cause: 'status', error: { ...error, kind } } as const
  }
  const soFar = (used = made.keyed.slice(0, 1), tiers = [[made]]) => ({
    tiers,
    tried: new Set([made.id]),
    used,
  })
  const may = (
    status: number,
    one = first,
    used?: RoutableChannel[],
    tiers?: RoutableChannel[][],
  ) => one !== undefined && mayUseOtherKey(one, failed(status), soFar(used, tiers))

  test.each([
    [401, true],
    [402, true],
    [403, true],
    [429, true],
    [404, false],
    [500, false],
  ])('after %i: %s', (status, expected) => {
    expect(may(status)).toBe(expected)
  })

  test('if it refers to an item of another account', () => {
    const code = 'invalid_encrypted_content'
    expect(first && mayUseOtherKey(first, failed(400, code), soFar())).toBe(true)
    expect(may(400)).toBe(false)
  })

  test('not if no key is left, nor for a channel with one key', () => {
    expect(may(401, second, made.keyed.slice(0, 2))).toBe(false)
    expect(may(401, channel([]))).toBe(false)
  })

  test('not a third key while another channel is left', () => {
    const three = channel([null, null, null])
    const used = three.keyed.slice(0, 2)
    const other = { ...channel([]), id: 8 }
    const goesOn = (tiers: RoutableChannel[][]) => may(401, three.keyed[1], used, tiers)
    expect(goesOn([[three], [other]])).toBe(false)
    expect(goesOn([[three]])).toBe(true)
  })
})
