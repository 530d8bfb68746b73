import { NO_OVERRIDES, overriddenHeaders, type Overrides } from '../../channel/overrides.ts'
import { scanBody } from '../json/body-scan.ts'
import { splice, type MemberEdit } from '../json/body-splice.ts'
import type { UpstreamRequest } from './upstream-call.ts'

/**
 * Applies the channel's overrides to a request: proxy, headers and body members. A body that is not
 * a JSON object stays unchanged.
 */
export function overridden(
  request: UpstreamRequest,
  { overrides, key }: { overrides: Overrides; key: string },
): UpstreamRequest {
  if (overrides === NO_OVERRIDES) return request
  const { proxy, params } = overrides
  return {
    ...request,
    ...(proxy === undefined ? {} : { proxy }),
    headers: overriddenHeaders(request.headers, overrides, key),
    body: overriddenBody(request.body, params),
  }
}

function overriddenBody(body: Buffer | null, params: Overrides['params']): Buffer | null {
  const entries = Object.entries(params)
  if (entries.length === 0 || body === null) return body
  const scanned = scanBody(body)
  if (!scanned.ok) return body
  const edits = entries.map(([name, value]): MemberEdit => ({
    set: name,
    json: JSON.stringify(value),
  }))
  return splice(scanned, edits)
}
