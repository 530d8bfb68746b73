import type { AskedModel } from '../../../model/model-table.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import type { UpstreamTraits } from '../dialect/traits.ts'
import { memberRange, memberToWrite, memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { defaultMaxTokens, thinksByBudget } from './thinking.ts'

/** Adds `max_tokens`, which Anthropic requires and clients of other gateways leave out. */
export function withMaxTokens(body: ScannedBody, to: AskedModel): MemberEdit[] {
  if (memberRange(body, 'max_tokens') !== null) return []
  const isStream = memberValue(body, 'stream') === true
  return [{ set: 'max_tokens', json: String(defaultMaxTokens(to, isStream)) }]
}

/** An unsigned thought or search, or a signature of another maker as `wrapSignature` writes it. */
const FOREIGN = [
  '"signature":""',
  '"signature": ""',
  'Z2F0ZWhvdXNlO',
  '"encrypted_content":""',
  '"encrypted_content": ""',
  '"encrypted_index":""',
  '"encrypted_index": ""',
]

/**
 * Removes thoughts and searches of other makers, from a conversation that began with their models:
 * Claude rejects them with "Invalid `signature` in `thinking` block". A message with nothing else
 * is removed, too. Models with a reasoning budget require a thought before pending calls; if that
 * thought is removed, reasoning is turned off.
 */
export function withoutForeignThoughts(
  body: ScannedBody,
  to: AskedModel & { traits: UpstreamTraits },
): MemberEdit[] {
  const { traits } = to
  if (traits.servesClaude !== true || !FOREIGN.some((sign) => body.bytes.includes(sign))) return []
  const sent = arrayOr(memberToWrite(body, 'messages'))
  const kept = sent.map(withOwnThoughts)
  if (kept.every((message, index) => message === sent[index])) return []
  const messages = kept.filter((message) => message !== null)
  const thinks = recordOr(memberValue(body, 'thinking')).type === 'enabled'
  const isStopped = thinks && thinksByBudget(to) && isOpenWithoutThought(messages)
  return [
    { set: 'messages', json: JSON.stringify(messages) },
    ...(isStopped ? [{ remove: 'thinking' }] : []),
  ]
}

/** Returns the message without foreign parts; null if nothing is left. */
function withOwnThoughts(message: unknown): unknown {
  if (!isRecord(message) || message.role !== 'assistant') return message
  const content = arrayOr(message.content)
  const searches = foreignSearches(content)
  const own = content
    .filter((block) => !isForeignThought(recordOr(block)) && !isOf(recordOr(block), searches))
    .map(withOwnCitations)
  if (own.length === content.length && own.every((block, index) => block === content[index])) {
    return message
  }
  return own.length === 0 ? null : { ...message, content: own }
}

/** Ids of searches that another maker ran: their results have no signature of Anthropic's. */
const foreignSearches = (content: readonly unknown[]): ReadonlySet<unknown> =>
  new Set(
    content
      .map(recordOr)
      .filter(({ type, content: found }) => type === 'web_search_tool_result' && isUnsealed(found))
      .map(({ tool_use_id: id }) => id),
  )

const isUnsealed = (found: unknown): boolean =>
  Array.isArray(found) && found.every((page) => textOr(recordOr(page).encrypted_content) === '')

const isOf = ({ type, id, tool_use_id }: JsonRecord, searches: ReadonlySet<unknown>): boolean =>
  (type === 'server_tool_use' && searches.has(id)) ||
  (type === 'web_search_tool_result' && searches.has(tool_use_id))

/** Returns a text without citations of other makers' search results. */
function withOwnCitations(block: unknown): unknown {
  if (!isRecord(block) || block.type !== 'text') return block
  const sent = arrayOr(block.citations)
  const own = sent.filter((citation) => recordOr(citation).encrypted_index !== '')
  if (own.length === sent.length) return block
  const { citations: _foreign, ...text } = block
  return own.length === 0 ? text : { ...text, citations: own }
}

function isForeignThought({ type, signature }: JsonRecord): boolean {
  if (type !== 'thinking') return false
  return (
    textOr(signature) === '' || unwrapSignature(textOr(signature), 'anthropic').by !== 'anthropic'
  )
}

const holds = (message: unknown, ...types: string[]): boolean =>
  arrayOr(recordOr(message).content).some((block) => types.includes(textOr(recordOr(block).type)))

/** Whether pending calls have no thought before them. */
function isOpenWithoutThought(messages: readonly unknown[]): boolean {
  if (!holds(messages.at(-1), 'tool_result')) return false
  const question = messages.findLastIndex(
    (message) => recordOr(message).role === 'user' && !holds(message, 'tool_result'),
  )
  const turn = messages.slice(question + 1)
  return !turn.some((message) => holds(message, 'thinking', 'redacted_thinking'))
}
