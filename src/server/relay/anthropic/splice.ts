import type { AskedModel } from '../../model/model-table.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import type { UpstreamTraits } from '../dialect/traits.ts'
import { memberRange, memberToWrite, memberValue, type ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../json/json-value.ts'
import { defaultMaxTokens, thinksByBudget } from './thinking.ts'

/** The limit that Anthropic demands and other gateways' clients leave out. */
export function withMaxTokens(body: ScannedBody, to: AskedModel): MemberEdit[] {
  if (memberRange(body, 'max_tokens') !== null) return []
  const isStream = memberValue(body, 'stream') === true
  return [{ set: 'max_tokens', json: String(defaultMaxTokens(to, isStream)) }]
}

/** An unsealed thought or search, and the seal of another maker as `wrapSignature` writes it. */
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
 * Leaves out thoughts and searches of other makers, which a conversation has that began with their
 * models: Claude refuses them with "Invalid `signature` in `thinking` block". A message of nothing
 * else goes too. Models that think by a budget must have thought before the calls that are being
 * answered; where that thought goes, they answer without thinking.
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

/** Null: nothing of the message is left. */
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

/** The ids of searches that another maker has run: what they found bears no seal of Anthropic's. */
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

/** A text without citations of what other makers have found. */
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

/** Whether calls are being answered that no thought precedes. */
function isOpenWithoutThought(messages: readonly unknown[]): boolean {
  if (!holds(messages.at(-1), 'tool_result')) return false
  const question = messages.findLastIndex(
    (message) => recordOr(message).role === 'user' && !holds(message, 'tool_result'),
  )
  const turn = messages.slice(question + 1)
  return !turn.some((message) => holds(message, 'thinking', 'redacted_thinking'))
}
