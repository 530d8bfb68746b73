import { memberRange, memberValue, type ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import { defaultMaxTokens } from './thinking.ts'

/** The limit that Anthropic demands and other gateways' clients leave out. */
export function withMaxTokens(body: ScannedBody, model: string): MemberEdit[] {
  if (memberRange(body, 'max_tokens') !== null) return []
  const isStream = memberValue(body, 'stream') === true
  return [{ set: 'max_tokens', json: String(defaultMaxTokens(model, isStream)) }]
}
