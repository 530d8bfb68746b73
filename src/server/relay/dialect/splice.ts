import { bareModel, batchFor, systemMember } from '../gemini/figures.ts'
import { withMaxTokens } from '../anthropic/splice.ts'
import { memberRange, memberValue, type ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import { arrayOr } from '../json/json-value.ts'
import { withSystemPrompt } from '../openai/system-prompt.ts'
import type { Surface } from './surfaces.ts'

/** The few members of a client's request that a channel needs changed; all other bytes stay. */

/** The channel's system prompt takes the place of the client's. */
export function systemPromptEdit(
  surface: Surface,
  body: ScannedBody,
  systemPrompt: string,
): MemberEdit[] {
  if (systemPrompt === '') return []
  if (surface.task === 'responses') {
    return [{ set: 'instructions', json: JSON.stringify(systemPrompt) }]
  }
  if (surface.task !== 'chat') return []
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

/** What changes when a request goes to an upstream of its own dialect. */
export function dialectEdits(
  surface: Surface,
  body: ScannedBody,
  to: { model: string; isRenamed: boolean; asksForUsage: boolean; refusesUsage: boolean },
): MemberEdit[] {
  switch (surface.dialect) {
    case 'openai':
      return [
        ...modelEdit(body, to),
        ...(to.asksForUsage
          ? [{ set: 'include_usage', inside: 'stream_options', json: 'true' }]
          : []),
        // An answer without its figures is better than none.
        ...(to.refusesUsage ? [{ remove: 'stream_options' }] : []),
      ]
    case 'anthropic':
      return [
        ...modelEdit(body, to),
        ...(surface.task === 'chat' ? withMaxTokens(body, to.model) : []),
      ]
    case 'gemini':
      return geminiEdits(surface, body, to)
    default:
      return surface.dialect satisfies never
  }
}

function modelEdit(
  body: ScannedBody,
  { model, isRenamed }: { model: string; isRenamed: boolean },
): MemberEdit[] {
  const isAbsent = (memberValue(body, 'model') ?? null) === null
  return isRenamed || isAbsent ? [{ set: 'model', json: JSON.stringify(model) }] : []
}

/** The model stands in the address; where the body repeats it, it must say the same. */
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
