import { createHash } from 'node:crypto'
import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import type { Steering } from '../../protocols/dialect/steering.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import { type MemberEdit, renamed } from '../../json/body-splice.ts'
import { arrayOr, isRecord, present, recordOr, type JsonRecord } from '../../json/json-value.ts'
import {
  messageEdits,
  systemRole,
  THOUGHTS,
  withoutMembers,
  type MessageChange,
} from '../../protocols/openai-chat/message-edits.ts'

/**
 * Members and values that Mistral's models reject on every host. Source: Mistral's API reference,
 * "Chat Completion".
 */
export const MISTRAL_LACKS: readonly Steering[] = [
  'userId',
  'store',
  'logitBias',
  'serviceTier',
  'verbosity',
  'topK',
]

/** Source: Mistral's API reference, "Chat Completion". */
export function mistralEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  if (task !== 'chat') return []
  const isDemanding = memberValue(body, 'tool_choice') === 'required'
  return [
    ...renamed(body, 'max_completion_tokens', 'max_tokens'),
    ...renamed(body, 'seed', 'random_seed'),
    ...(isDemanding ? [{ set: 'tool_choice', json: '"any"' }] : []),
    ...messageEdits(body, [
      ...systemRole(body),
      ...withoutMembers(body, [...THOUGHTS, 'reasoning']),
      withFittingIds,
      ...documentParts(body),
    ]),
  ]
}

/**
 * Mistral takes documents as `document_url`, by URL or as data; its own `file` names a file that is
 * stored there. Source: Mistral's API reference, `DocumentURLChunk` and `FileChunk`.
 */
const documentParts = (body: ScannedBody): MessageChange[] =>
  body.bytes.includes('"file_data"') ? [withDocuments] : []

function withDocuments(message: JsonRecord): JsonRecord {
  const { content } = message
  if (!Array.isArray(content)) return message
  return { ...message, content: content.map((part) => (isRecord(part) ? asDocument(part) : part)) }
}

function asDocument(part: JsonRecord): JsonRecord {
  const { file_data: url, filename } = recordOr(part.file)
  if (part.type !== 'file' || url === undefined) return part
  return {
    type: 'document_url',
    document_url: url,
    ...present({ document_name: filename }),
  }
}

/** A valid tool call id: exactly nine letters or digits. */
const MISTRAL_ID = /^[A-Za-z0-9]{9}$/

const fits = (id: unknown): boolean => typeof id !== 'string' || MISTRAL_ID.test(id)

/** Converts another provider's tool call id to Mistral's format. */
const fitted = (id: unknown): unknown =>
  fits(id) ? id : createHash('sha256').update(String(id)).digest('hex').slice(0, 9)

function withFittingIds(message: JsonRecord): JsonRecord {
  const { tool_calls: calls, tool_call_id: id } = message
  const called = arrayOr(calls).filter(isRecord)
  if (fits(id) && called.every((call) => fits(call.id))) return message
  return {
    ...message,
    ...(Array.isArray(calls)
      ? {
          tool_calls: calls.map((call) =>
            isRecord(call) ? { ...call, id: fitted(call.id) } : call,
          ),
        }
      : {}),
    ...(id === undefined ? {} : { tool_call_id: fitted(id) }),
  }
}
