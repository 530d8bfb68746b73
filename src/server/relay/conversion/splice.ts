import type { Surface } from '../protocols/dialect/surface.ts'
import type { AskedModel } from '../../model/model-table.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import { bareModel, batchFor, systemMember } from '../protocols/gemini/names.ts'
import { withMaxTokens, withoutForeignThoughts } from '../protocols/anthropic/splice.ts'
import {
  memberBytes,
  memberRange,
  memberToWrite,
  memberValue,
  type ScannedBody,
} from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import { arrayOr, isRecord, present, recordOr } from '../json/json-value.ts'
import { withSystemPrompt } from '../protocols/openai-chat/system-prompt.ts'
import { withoutNotes } from '../protocols/openai-responses/upstream/of-codex.ts'

/**
 * Edits of the members that a channel requires to change in a client's request; all other bytes
 * stay.
 */

/** Whether the channel's system prompt applies to such a call. */
export const takesSystemPrompt = ({ task }: Surface): boolean =>
  task === 'chat' || task === 'responses'

/** Replaces the client's system prompt by the channel's. */
export function systemPromptEdit(
  surface: Surface,
  body: ScannedBody,
  systemPrompt: string,
): MemberEdit[] {
  if (systemPrompt === '' || !takesSystemPrompt(surface)) return []
  if (surface.task === 'responses' || surface.spokenIn === 'responses') {
    return [{ set: 'instructions', json: JSON.stringify(systemPrompt) }]
  }
  switch (surface.dialect) {
    case 'openai':
      return [withSystemPrompt(body, systemPrompt)]
    case 'anthropic':
      return [{ set: 'system', json: JSON.stringify(systemPrompt) }]
    case 'gemini': {
      const json = JSON.stringify({ parts: [{ text: systemPrompt }] })
      return [{ set: systemMember(body), json }]
    }
    default:
      return surface.dialect satisfies never
  }
}

/** Edits for an upstream with the client's dialect. */
export function dialectEdits(
  surface: Surface,
  body: ScannedBody,
  to: AskedModel & {
    /** Traits of the channel's vendor. */
    traits: UpstreamTraits
    isRenamed: boolean
    asksForUsage: boolean
    refusesUsage: boolean
  },
): MemberEdit[] {
  switch (surface.dialect) {
    case 'openai':
      return [
        ...modelEdit(body, to),
        ...unsaidCounts(body),
        ...(to.asksForUsage
          ? [{ set: 'include_usage', inside: 'stream_options', json: 'true' }]
          : []),
        // The upstream rejects `stream_options`; a response without usage is better than an error.
        ...(to.refusesUsage ? [{ remove: 'stream_options' }] : []),
        ...(surface.task === 'chat' ? toolEdits(body) : []),
        ...(isResponse(surface) ? withoutNotes(body, to.traits) : []),
      ]
    case 'anthropic':
      return [
        ...modelEdit(body, to),
        ...(surface.task === 'chat' ? withMaxTokens(body, to) : []),
        ...withoutForeignThoughts(body, to),
      ]
    case 'gemini':
      return geminiEdits(surface, body, to)
    default:
      return surface.dialect satisfies never
  }
}

const isResponse = ({ task }: Surface): boolean => task === 'responses' || task === 'compact'

function modelEdit(
  body: ScannedBody,
  { model, isRenamed }: { model: string; isRenamed: boolean },
): MemberEdit[] {
  const isAbsent = (memberValue(body, 'model') ?? '') === ''
  return isRenamed || isAbsent ? [{ set: 'model', json: JSON.stringify(model) }] : []
}

/** Some clients send 0 for "not set", which not every upstream accepts. */
const unsaidCounts = (body: ScannedBody): MemberEdit[] =>
  ['n', 'best_of'].filter((name) => memberValue(body, name) === 0).map((remove) => ({ remove }))

/** Nests tools that Cursor sends flat, as in the Responses API and in Anthropic's dialect. */
function toolEdits(body: ScannedBody): MemberEdit[] {
  const bytes = memberBytes(body, 'tools')
  if (bytes === null || !mayHaveFlatTools(bytes)) return []
  const tools = arrayOr(memberToWrite(body, 'tools'))
  return tools.some(isFlat) ? [{ set: 'tools', json: JSON.stringify(tools.map(nested)) }] : []
}

const FUNCTION = '"function"'
const COLON = 0x3a

/**
 * Avoids parsing many tools: a nested tool contains `"function"` once as its type and once as a
 * member.
 */
function mayHaveFlatTools(bytes: Buffer): boolean {
  if (bytes.includes('"input_schema"')) return true
  let unmatched = 0
  for (let at = bytes.indexOf(FUNCTION); at >= 0; at = bytes.indexOf(FUNCTION, at + 1)) {
    let next = at + FUNCTION.length
    while ((bytes[next] ?? COLON) <= 0x20) next += 1
    unmatched += bytes[next] === COLON ? -1 : 1
  }
  return unmatched !== 0
}

const isFlat = (tool: unknown): boolean =>
  isRecord(tool) &&
  !isRecord(tool.function) &&
  typeof tool.name === 'string' &&
  (tool.type ?? 'function') === 'function'

function nested(tool: unknown): unknown {
  if (!isFlat(tool)) return tool
  const { name, description, parameters, input_schema: schema, strict } = recordOr(tool)
  const described = present({ name, description, parameters: parameters ?? schema, strict })
  return { type: 'function', function: described }
}

/** Edits for Gemini. The URL contains the model; a model in the body must be the same. */
function geminiEdits(
  surface: Surface,
  body: ScannedBody,
  { model, isRenamed }: { model: string; isRenamed: boolean },
): MemberEdit[] {
  if (surface.task === 'batchEmbedContents') {
    const requests = batchFor(arrayOr(memberValue(body, 'requests')), model)
    return [{ set: 'requests', json: JSON.stringify(requests) }]
  }
  if (!isRenamed || memberRange(body, 'model') === null) return []
  return [{ set: 'model', json: JSON.stringify(`models/${bareModel(model)}`) }]
}
