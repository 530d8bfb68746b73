import { isAdmin } from '../../contract/user.ts'
import type { Charge, RelayCall, RelayParts } from './relay-call.ts'

/** Headers that tell a client what its call came to. */
export function costHeaders(
  { app }: RelayParts,
  call: RelayCall,
  { caller, channel }: Charge,
  { quota, remaining }: { quota: number; remaining: number | null },
): Record<string, string> {
  const overheadMs = Math.max(0, app.clock.monotonicMs() - call.startedMs - call.upstreamMs)
  return {
    'X-Gatehouse-Quota': String(quota),
    ...(remaining === null ? {} : { 'X-Gatehouse-Quota-Remaining': String(remaining) }),
    'X-Gatehouse-Overhead-Ms': overheadMs.toFixed(2),
    ...(isAdmin(caller.user.role) ? { 'X-Gatehouse-Channel': String(channel.id) } : {}),
  }
}

/** The upstream's answer. Of its headers only the content type goes on. */
export function sendAnswer(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  answer: {
    contentType: string | string[] | undefined
    body: Buffer
    charged: number
    remaining: number | null
  },
): void {
  const { contentType, body, charged, remaining } = answer
  if (call.isGone) return
  call.response.writeHead(200, {
    'Content-Type': typeof contentType === 'string' ? contentType : 'application/json',
    'Content-Length': body.length,
    ...costHeaders(parts, call, charge, { quota: charged, remaining }),
  })
  call.response.end(body)
}
