import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, present, recordOr, type JsonRecord } from '../../json/json-value.ts'
import { documentText } from '../shared/rerank-documents.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { jsonAnswer, recordIn } from '../../transport/json-steps.ts'
import { membersOf, rewritten } from '../shared/rewritten-body.ts'
import { inOpenaisWords } from './errors.ts'

/**
 * Reranking by DashScope in the usual format. Source: Alibaba Cloud Model Studio, "Text rerank"
 * (`gte-rerank-v2`, `qwen3-rerank`).
 */

/** Members of the usual format that DashScope does not have and that do not affect the order. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(
  'user max_chunks_per_doc max_chunk_per_doc overlap_tokens'.split(' '),
)

/** All other members, such as `instruct`, are sent unchanged. */
export function rankingEdits(body: ScannedBody): MemberEdit[] {
  const asked = membersOf(body)
  const { model, query, documents, ...others } = asked
  const parameters = Object.fromEntries(
    Object.entries(others).filter(([name]) => !LEFT_BEHIND.has(name)),
  )
  return rewritten(asked, {
    model,
    input: { query, documents: arrayOr(documents).map(documentText) },
    parameters: present(parameters),
  })
}

export const rankingWalk: Walk = async (steps, request) => {
  const answer = await steps.fetch(request)
  if (answer.status !== 200) return inOpenaisWords(answer)
  const { request_id: id, output, usage } = recordIn(answer)
  const { results } = recordOr(output)
  return jsonAnswer({ id, results, ...usageOf(recordOr(usage)) })
}

/** DashScope counts the query once per document and reports the sum. */
function usageOf({ total_tokens: total }: JsonRecord): JsonRecord {
  return total === undefined ? {} : { usage: { prompt_tokens: total, total_tokens: total } }
}
