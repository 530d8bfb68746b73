import { isAskedFor, unsupportedField } from '../../../protocols/canonical/reading.ts'
import {
  memberBytes,
  memberToWrite,
  memberValue,
  type ScannedBody,
} from '../../../json/body-scan.ts'
import type { MemberEdit } from '../../../json/body-splice.ts'
import { arrayOr, isRecord, recordOr, type JsonRecord } from '../../../json/json-value.ts'
import { hasFeature } from '../../../../model/capabilities.ts'
import { capabilitiesOf, type AskedModel } from '../../../../model/model-table.ts'
import { hasEffort } from '../../../protocols/anthropic/thinking.ts'

/**
 * What Claude takes of a request at Amazon and at Google: "Extra inputs are not permitted" is their
 * answer to members that only Anthropic's own API knows. Hints that change neither the answer nor
 * its price are left out; for what matters another channel is asked, and the client told in the
 * end. Sources: Claude Code documentation, "LLM gateway protocol reference", "Feature
 * pass-through"; Anthropic's documentation of each feature, "supported platforms"; LiteLLM's
 * `BedrockInvokeAnthropicMessagesRequest`.
 */
const REFUSED = ['mcp_servers', 'container'] as const

/**
 * They ask why a cache was missed, and for what is usual there: their other values are refused
 * before a channel is chosen (`routing/unpriced.ts`).
 */
const HINTS = ['diagnostics', 'speed', 'service_tier', 'inference_geo'] as const

export interface CloudModel extends AskedModel {
  cloud: 'amazon' | 'google'
}

/** What must change of a request; throws the refusal of what has no word there. */
export function cloudEdits(body: ScannedBody, to: CloudModel): MemberEdit[] {
  refuseTheUnknown(body)
  const marks = plainMarks(to)
  return [
    ...[...REFUSED, ...HINTS].map((remove) => ({ remove })),
    ...(to.cloud === 'amazon' ? thoughtEdits(body) : []),
    ...effortEdits(body, to),
    ...listEdits(body, 'system', marks),
    ...listEdits(body, 'messages', marks),
    ...listEdits(body, 'tools', {
      signs: [...marks.signs, EAGER],
      change(tool) {
        if (tool.eager_input_streaming === undefined) return marks.change(tool)
        const { eager_input_streaming: _eager, ...rest } = tool
        return marks.change(rest)
      },
    }),
  ]
}

function refuseTheUnknown(body: ScannedBody): void {
  for (const name of REFUSED) {
    if (isAskedFor(memberValue(body, name) ?? null)) throw unsupportedField(name)
  }
  const { task_budget: budget = null } = recordOr(memberValue(body, 'output_config'))
  if (budget !== null) throw unsupportedField('output_config.task_budget')
  if (memberBytes(body, 'messages')?.includes(DEFINITION) === true) refuseDefinitions(body)
}

const DEFINITION = '"tool_definition"'

/** Tools are added there by their names, not by what they are. */
function refuseDefinitions(body: ScannedBody): void {
  for (const [at, message] of arrayOr(memberValue(body, 'messages')).entries()) {
    for (const [place, block] of arrayOr(recordOr(message).content).entries()) {
      if (recordOr(recordOr(block).tool).type === 'tool_definition') {
        throw unsupportedField(`messages[${at}].content[${place}].tool`)
      }
    }
  }
}

/**
 * Claude Code asks with every request that no thought be cleared. Amazon knows no edit of thoughts
 * (BerriAI/litellm#27532), and clears none by itself of the models since Opus 4.5.
 */
function thoughtEdits(body: ScannedBody): MemberEdit[] {
  const name = 'context_management'
  const sent = memberValue(body, name)
  if (!isRecord(sent)) return []
  const edits = arrayOr(sent.edits)
  const others = edits.filter((edit) => !keepsAll(recordOr(edit)))
  if (others.length === edits.length) return []
  if (others.length === 0) return [{ remove: name }]
  return [{ set: name, json: JSON.stringify({ ...sent, edits: others }) }]
}

const keepsAll = ({ type, keep }: JsonRecord): boolean =>
  type === 'clear_thinking_20251015' && (keep === 'all' || recordOr(keep).type === 'all')

/** Claude Code sends an effort with every name that it does not know. */
function effortEdits(body: ScannedBody, to: AskedModel): MemberEdit[] {
  const name = 'output_config'
  const sent = memberToWrite(body, name)
  if (!isRecord(sent) || sent.effort === undefined || hasEffort(to)) return []
  const { effort: _effort, ...config } = sent
  if (Object.keys(config).length === 0) return [{ remove: name }]
  return [{ set: name, json: JSON.stringify(config) }]
}

/** That a tool's arguments are to come as they are written. */
const EAGER = '"eager_input_streaming"'

/** Whether any tool's are: at Amazon that is a beta. */
export const isEager = (body: ScannedBody): boolean =>
  memberBytes(body, 'tools')?.includes(EAGER) === true &&
  arrayOr(memberValue(body, 'tools')).some((tool) => recordOr(tool).eager_input_streaming === true)

/** What may have to change in a list, and how an element of it does; one that stays is itself. */
interface ListChange {
  signs: readonly string[]
  change(element: JsonRecord): JsonRecord
}

/**
 * Cache marks without what is not known there: for whom else a prompt is kept and, at Amazon and of
 * models before 4.5, that it is kept for an hour. Source: Amazon Bedrock user guide, "Prompt
 * caching". What is charged is what the answer says was kept.
 */
function plainMarks(to: CloudModel): ListChange {
  const isForMinutes = to.cloud === 'amazon' && !hasFeature(capabilitiesOf(to), 'cache_1h')
  const unknown = isForMinutes ? ['scope', 'ttl'] : ['scope']
  return {
    signs: unknown.map((name) => `"${name}"`),
    change: (element) => withMarks(element, unknown),
  }
}

/** A block with its cache mark without these members, and those of the blocks in it. */
function withMarks(block: JsonRecord, unknown: readonly string[]): JsonRecord {
  const { cache_control: mark, content } = block
  const inner = Array.isArray(content)
    ? changedOf(content, (one) => withMarks(one, unknown))
    : content
  const isPlain = !isRecord(mark) || unknown.every((name) => mark[name] === undefined)
  if (isPlain) return inner === content ? block : { ...block, content: inner }
  const kept = Object.entries(mark).filter(([name]) => !unknown.includes(name))
  const changed = { ...block, cache_control: Object.fromEntries(kept) }
  return inner === content ? changed : { ...changed, content: inner }
}

/** The list itself where all of its elements stay. */
function changedOf(list: readonly unknown[], change: ListChange['change']): readonly unknown[] {
  const changed = list.map((element) => (isRecord(element) ? change(element) : element))
  return changed.every((element, at) => element === list[at]) ? list : changed
}

function listEdits(body: ScannedBody, name: string, { signs, change }: ListChange): MemberEdit[] {
  const bytes = memberBytes(body, name)
  if (bytes === null || !signs.some((sign) => bytes.includes(sign))) return []
  const list = memberToWrite(body, name)
  if (!Array.isArray(list)) return []
  const changed = changedOf(list, change)
  return changed === list ? [] : [{ set: name, json: JSON.stringify(changed) }]
}
