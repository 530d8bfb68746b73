import { startUpstream } from '../contenders.ts'
import { runLoad, type LoadResult } from '../load.ts'
import { createChannel, createToken, giveQuota, type Session } from '../management-client.ts'

const LOAD_CORE = 1
const MODEL = 'gpt-4o-mini'
const PLENTY_OF_QUOTA = 1_000_000_000_000

export type RelayedCalls = {
  /** Makes calls for this many seconds, at most `perSecondMax` per second. */
  run(load: { connections: number; seconds: number; perSecondMax?: number }): Promise<LoadResult>
  stop(): Promise<void>
}

/** Calls that a server relays to our upstream and logs, while it serves other requests. */
export async function relayedCalls(url: string, root: Session): Promise<RelayedCalls> {
  const upstream = await startUpstream()
  await giveQuota(root, 'root', PLENTY_OF_QUOTA)
  await createChannel(root, { name: 'fast', base_url: upstream.url, models: MODEL })
  const key = await createToken(root, { name: 'load', remain_quota: 0, unlimited_quota: true })
  const call = {
    url: `${url}/v1/chat/completions`,
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
    warmupSeconds: 1,
    expect: 'choices',
  }
  return {
    run: (load) => runLoad({ ...call, ...load }, LOAD_CORE),
    stop: () => upstream.process.stop(),
  }
}
