import { isAdmin } from '../../contract/user.ts'
import { writeHead, type Charge, type RelayCall, type RelayParts } from './relay-call.ts'

/** Of every answer that is a stream, also through proxies that like to collect. */
export const streamHeaders = (contentType: string): string[] => [
  'Content-Type',
  contentType,
  'Cache-Control',
  'no-cache',
  'X-Accel-Buffering',
  'no',
]

/** Up to here copying the body is cheaper than writing it apart. */
const TEXT_BYTES_MAX = 16 * 1024

/** Headers that tell a client what its call came to. */
export function costHeaders(
  { app }: RelayParts,
  call: RelayCall,
  { caller, channel }: Charge,
  { quota, remaining }: { quota: number; remaining: number | null },
): string[] {
  const overheadMs = Math.max(0, app.clock.monotonicMs() - call.startedMs - call.upstreamMs)
  const headers = ['X-Gatehouse-Quota', String(quota)]
  if (remaining !== null) headers.push('X-Gatehouse-Quota-Remaining', String(remaining))
  headers.push('X-Gatehouse-Overhead-Ms', overheadMs.toFixed(2))
  if (isAdmin(caller.user.role)) headers.push('X-Gatehouse-Channel', String(channel.id))
  return headers
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
  call.capture?.addWhole(body)
  if (call.isGone) return
  writeHead(call, 200, [
    'Content-Type',
    typeof contentType === 'string' ? contentType : 'application/json',
    'Content-Length',
    String(body.length),
    ...costHeaders(parts, call, charge, { quota: charged, remaining }),
  ])
  // A text leaves in one piece with the head; bytes are a second piece and a dearer system call.
  if (body.length <= TEXT_BYTES_MAX) call.response.end(body.toString('latin1'), 'latin1')
  else call.response.end(body)
}
