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
 * Adapts a request to the members that Claude accepts at Amazon and at Google, which reject members
 * of Anthropic's own API with "Extra inputs are not permitted". Members that change neither the
 * response nor its price are dropped. Any other unsupported member is an error for this channel:
 * the relay tries another channel before it reports the error to the client. Sources: Claude Code
 * documentation, "LLM gateway protocol reference", "Feature pass-through"; Anthropic's
 * documentation of each feature, "supported platforms"; LiteLLM's
 * `BedrockInvokeAnthropicMessagesRequest`.
 */
const REFUSED = ['mcp_servers', 'container'] as const

/**
 * Requests for the reason of a cache miss, and default values. `routing/unpriced.ts` rejects all
 * other values before a channel is chosen.
 */
const HINTS = ['diagnostics', 'speed', 'service_tier', 'inference_geo'] as const

export interface CloudModel extends AskedModel {
  cloud: 'amazon' | 'google'
}

/** Returns the edits of a request; throws if a member has no equivalent in the cloud. */
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

/** In these clouds a message can add a tool by name only, not by its definition. */
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
 * Claude Code sends an edit that keeps all reasoning with every request. Amazon supports no edits
 * of reasoning (BerriAI/litellm#27532), and keeps all reasoning anyway for models since Opus 4.5.
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

/** Claude Code sends an effort with every model name that it does not know. */
function effortEdits(body: ScannedBody, to: AskedModel): MemberEdit[] {
  const name = 'output_config'
  const sent = memberToWrite(body, name)
  if (!isRecord(sent) || sent.effort === undefined || hasEffort(to)) return []
  const { effort: _effort, ...config } = sent
  if (Object.keys(config).length === 0) return [{ remove: name }]
  return [{ set: name, json: JSON.stringify(config) }]
}

/** Member of a tool that requests its arguments as they are generated. */
const EAGER = '"eager_input_streaming"'

/** Whether any tool has `eager_input_streaming`; Amazon expects a beta instead. */
export const isEager = (body: ScannedBody): boolean =>
  memberBytes(body, 'tools')?.includes(EAGER) === true &&
  arrayOr(memberValue(body, 'tools')).some((tool) => recordOr(tool).eager_input_streaming === true)

/**
 * A list of which elements may change, and the change of one element; unchanged elements are
 * returned by reference.
 */
interface ListChange {
  signs: readonly string[]
  change(element: JsonRecord): JsonRecord
}

/**
 * Removes unsupported members from cache marks: the scope, and at Amazon for models before 4.5 a
 * lifetime of an hour. The charge follows the usage in the response. Source: Amazon Bedrock user
 * guide, "Prompt caching".
 */
function plainMarks(to: CloudModel): ListChange {
  const isForMinutes = to.cloud === 'amazon' && !hasFeature(capabilitiesOf(to), 'cache_1h')
  const unknown = isForMinutes ? ['scope', 'ttl'] : ['scope']
  return {
    signs: unknown.map((name) => `"${name}"`),
    change: (element) => withMarks(element, unknown),
  }
}

/** Returns a block without these members in its cache mark, and in the blocks that it contains. */
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

/** Returns the same list if no element changes. */
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
