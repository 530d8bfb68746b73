import { memberBytes, memberToWrite, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, recordOr } from '../../json/json-value.ts'

/**
 * Adds the channel's system prompt to the messages: it replaces the first message if that is a
 * system message, otherwise it is prepended. The other messages keep their bytes.
 */
export function withSystemPrompt(body: ScannedBody, systemPrompt: string): MemberEdit {
  const own = JSON.stringify({ role: 'system', content: systemPrompt })
  const messages = arrayOr(memberToWrite(body, 'messages'))
  const hasSystem = recordOr(messages[0])['role'] === 'system'
  if (hasSystem) {
    const rest = messages.slice(1).map((message) => JSON.stringify(message))
    return { set: 'messages', json: `[${[own, ...rest].join(',')}]` }
  }
  const bytes = memberBytes(body, 'messages')?.toString('utf8') ?? '[]'
  return { set: 'messages', json: bytes.replace(/^\[/, () => `[${own},`) }
}
