import type { Surface } from '../protocols/dialect/surface.ts'
import type { AskedModel } from '../../model/model-table.ts'
import { memberObject, memberRange, memberValue, type ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import { recordOr } from '../json/json-value.ts'
import { limitName } from '../protocols/openai-chat/write-request.ts'

/** Edits that lower the completion limit of a client's request, in the client's dialect. */
export function outputLimitEdits(
  surface: Surface,
  body: ScannedBody,
  to: AskedModel & { limit: number },
): MemberEdit[] {
  const { limit } = to
  const json = String(limit)
  if (surface.task === 'responses') return [{ set: 'max_output_tokens', json }]
  switch (surface.dialect) {
    case 'openai': {
      const said = NAMES.filter((name) => (memberValue(body, name) ?? null) !== null)
      const names = said.length > 0 ? said : [ownName(surface, to)]
      return names.map((set) => ({ set, json }))
    }
    case 'anthropic':
      return [{ set: 'max_tokens', json }, ...thinkingWithin(body, limit)]
    case 'gemini':
      return [geminiLimit(body, json)]
    default:
      return surface.dialect satisfies never
  }
}

/** Clients of OpenAI's dialect use either name; Cursor uses the name of the Responses API. */
const NAMES = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const

function ownName({ task, spokenIn }: Surface, to: AskedModel): string {
  if (spokenIn === 'responses') return 'max_output_tokens'
  return task === 'completions' ? 'max_tokens' : limitName(to)
}

/** Anthropic's minimum reasoning budget, which must be less than `max_tokens`. */
const BUDGET_MIN = 1024

/**
 * Halves the limit between reasoning and reply; turns reasoning off if the half is below the
 * minimum.
 */
function thinkingWithin(body: ScannedBody, limit: number): MemberEdit[] {
  const thinking = recordOr(memberValue(body, 'thinking'))
  const budget = thinking['budget_tokens']
  if (typeof budget !== 'number' || budget < limit) return []
  const half = Math.floor(limit / 2)
  const lowered = half < BUDGET_MIN ? { type: 'disabled' } : { ...thinking, budget_tokens: half }
  return [{ set: 'thinking', json: JSON.stringify(lowered) }]
}

/** Gemini accepts two spellings of every name; the client's own stays. */
function geminiLimit(body: ScannedBody, json: string): MemberEdit {
  const isSnake = memberRange(body, 'generation_config') !== null
  const inside = isSnake ? 'generation_config' : 'generationConfig'
  const config = memberObject(body, inside)
  const hasSnake = config !== null && memberRange(config, 'max_output_tokens') !== null
  return { set: hasSnake ? 'max_output_tokens' : 'maxOutputTokens', inside, json }
}
