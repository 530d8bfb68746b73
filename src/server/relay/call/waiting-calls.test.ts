import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { WaitingCalls } from './waiting-calls.ts'

/** Balances are a number here: each attempt takes one point if there is one. */
function waitingRoom(limitMs = 10_000) {
  const clock = { monotonicMs: () => Date.now() }
  const room = new WaitingCalls(clock, limitMs)
  const state = { points: 0, served: [] as string[] }
  const call = (name: string, { tokenId = 1, userId = 1, isGone = (): boolean => false } = {}) =>
    room.take({ userId, tokenId, isGone }, async () => {
      if (state.points === 0) return null
      state.points -= 1
      state.served.push(name)
      return name
    })
  const free = async (points: number, userId = 1): Promise<void> => {
    state.points += points
    room.wake(userId)
    await vi.advanceTimersByTimeAsync(0)
  }
  return { room, state, call, free }
}

describe('calls that wait for points', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('go in their order, and tokens take turns', async () => {
    const { state, call, free, room } = waitingRoom()
    const calls = [
      ...['a1', 'a2', 'a3'].map((name) => call(name, { tokenId: 1 })),
      ...['b1', 'b2'].map((name) => call(name, { tokenId: 2 })),
    ]
    await free(0)
    for (let points = 0; points < 5; points += 1) await free(1)
    await Promise.all(calls)
    expect(state.served).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
    expect(room.isBusy(1)).toBe(false)
  })

  test('are tried again by themselves, because others free points too', async () => {
    const { state, call } = waitingRoom()
    const waiting = call('a')
    state.points = 1
    await vi.advanceTimersByTimeAsync(300)
    expect(await waiting).toBe('a')
  })

  test('give up when their time is over, and let the next one have its turn', async () => {
    const { call, free, state } = waitingRoom(1000)
    const early = call('early')
    await vi.advanceTimersByTimeAsync(600)
    const late = call('late')
    await vi.advanceTimersByTimeAsync(500)
    expect(await early).toBeNull()
    await free(1)
    expect(await late).toBe('late')
    expect(state.served).toEqual(['late'])
  })

  test('whose client has left take no points', async () => {
    const { call, free, state } = waitingRoom()
    let isGone = false
    const left = call('left', { isGone: () => isGone })
    const stays = call('stays')
    isGone = true
    await free(1)
    expect(await Promise.all([left, stays])).toEqual([null, 'stays'])
    expect(state.served).toEqual(['stays'])
  })

  test('of one token do not hold up those of another', async () => {
    const { room, state } = waitingRoom()
    const never = room.take({ userId: 1, tokenId: 1, isGone: () => false }, () =>
      Promise.resolve(null),
    )
    const other = room.take({ userId: 1, tokenId: 2, isGone: () => false }, async () => {
      state.served.push('other')
      return 'other'
    })
    expect(await other).toBe('other')
    await vi.advanceTimersByTimeAsync(11_000)
    expect(await never).toBeNull()
  })

  test('reject with what their attempt throws', async () => {
    const { room } = waitingRoom()
    const failing = room.take({ userId: 1, tokenId: 1, isGone: () => false }, () =>
      Promise.reject(new Error('refused')),
    )
    await expect(failing).rejects.toThrow('refused')
  })

  test('are limited to a hundred per token, and to 0 if waiting is off', async () => {
    const { call, free } = waitingRoom()
    const calls = Array.from({ length: 100 }, (_, index) => call(`call-${index}`))
    expect(await call('one too many')).toBeNull()
    await free(100)
    expect(await Promise.all(calls)).toHaveLength(100)
    expect(await waitingRoom(0).call('at once')).toBeNull()
  })
})
