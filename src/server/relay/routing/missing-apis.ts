import { sentModel, type RoutableChannel } from './choose-channel.ts'

/**
 * Remembers OpenAI-compatible servers that turned out to lack an API: the Responses API or chat
 * completions. By channel and model, since one address may forward different models to different
 * servers. Their calls use the other API, and after a while the missing one is tried again in case
 * it was added.
 */
export interface MissingApi {
  /** `model`: the name in the client's request. */
  has(channel: RoutableChannel, model: string): boolean
  add(channel: RoutableChannel, model: string): void
}

const BELIEVED_MS = 3_600_000
/** Maximum number of entries; the oldest are dropped. */
const ENTRIES_MAX = 10_000

export function createMissingApi(nowMs: () => number): MissingApi {
  /** Expiry time by entry. */
  const known = new Map<string, number>()
  const keyOf = (channel: RoutableChannel, model: string): string =>
    `${channel.id} ${channel.baseUrl} ${sentModel(channel, model)}`
  return {
    has(channel, model) {
      if (known.size === 0) return false
      return (known.get(keyOf(channel, model)) ?? 0) > nowMs()
    },
    add(channel, model) {
      const key = keyOf(channel, model)
      known.delete(key)
      const [oldest] = known.keys()
      if (oldest !== undefined && known.size >= ENTRIES_MAX) known.delete(oldest)
      known.set(key, nowMs() + BELIEVED_MS)
    },
  }
}
