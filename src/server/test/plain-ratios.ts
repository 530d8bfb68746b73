import type { Ratios } from '../option/live-options.ts'

const nothing: ReadonlyMap<string, string> = new Map()

/** Ratios without any price or special rule; tests add what they need. */
export const PLAIN_RATIOS: Ratios = {
  model: nothing,
  completion: nothing,
  group: nothing,
  cache: nothing,
  cacheWrite: nothing,
  cacheWriteHour: nothing,
  perCall: nothing,
  audio: nothing,
  audioCompletion: nothing,
  image: nothing,
  imageCompletion: nothing,
  picture: nothing,
  tool: nothing,
  tiers: new Map(),
  quotaPerUnit: '500000',
  otherwise: undefined,
  version: '9f86d081884c7d65',
}
