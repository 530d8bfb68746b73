import type { ProviderCall } from '../dialect/provider.ts'
import { memberToWrite, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, isRecord, type JsonRecord } from '../../json/json-value.ts'

/** Changes a message of OpenAI's chat; returns the same object if nothing changes. */
export type MessageChange = (message: JsonRecord) => JsonRecord

/** Applies all changes to a body's messages as one edit; none if no message changes. */
export function messageEdits(body: ScannedBody, changes: readonly MessageChange[]): MemberEdit[] {
  if (changes.length === 0) return []
  let isChanged = false
  const messages = arrayOr(memberToWrite(body, 'messages')).map((message) => {
    if (!isRecord(message)) return message
    const changed = changes.reduce((before, change) => change(before), message)
    isChanged ||= changed !== message
    return changed
  })
  return isChanged ? [{ set: 'messages', json: JSON.stringify(messages) }] : []
}

/** Renames the role `developer` to the older `system`; most other vendors reject the newer one. */
export const systemRole = (body: ScannedBody): MessageChange[] =>
  body.bytes.includes('"developer"')
    ? [(message) => (message.role === 'developer' ? { ...message, role: 'system' } : message)]
    : []

/** Edits for vendors that only need the older role. */
export const roleEdits = (body: ScannedBody, { task }: ProviderCall): MemberEdit[] =>
  task === 'chat' ? messageEdits(body, systemRole(body)) : []

/** Members of other vendors with reasoning, which clients send back. */
export const THOUGHTS: readonly string[] = ['reasoning_content', 'reasoning_details']

/** Removes these members from all messages. */
export function withoutMembers(body: ScannedBody, names: readonly string[]): MessageChange[] {
  const present = names.filter((name) => body.bytes.includes(`"${name}"`))
  if (present.length === 0) return []
  return [
    (message) =>
      present.some((name) => Object.hasOwn(message, name))
        ? Object.fromEntries(Object.entries(message).filter(([name]) => !present.includes(name)))
        : message,
  ]
}
