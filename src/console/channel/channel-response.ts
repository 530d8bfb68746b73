import type { Channel } from '../../contract/channel-api.ts'

/** Level of a response time for its colour: grey, red, green, olive, yellow, red. */
export type ResponseLevel = 'untested' | 'failed' | 'quick' | 'fair' | 'slow' | 'bad'

const QUICK_MS = 1000
const FAIR_MS = 3000
const SLOW_MS = 5000

type Tested = Pick<Channel, 'response_time' | 'test_time'>

/** Each limit belongs to the better level; 0 means not measured, or after a test, failed. */
export function responseLevel({ response_time: ms, test_time: testedAt }: Tested): ResponseLevel {
  if (ms === 0) return testedAt > 0 ? 'failed' : 'untested'
  if (ms <= QUICK_MS) return 'quick'
  if (ms <= FAIR_MS) return 'fair'
  return ms <= SLOW_MS ? 'slow' : 'bad'
}

/** Sorts failed tests together, before untested channels. */
export const responseOrder = (channel: Tested): number =>
  responseLevel(channel) === 'failed' ? -1 : channel.response_time
