import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, present, recordOr } from '../../json/json-value.ts'
import { documentText } from '../shared/rerank-documents.ts'
import { jsonAnswer, recordIn, unusable, withBody } from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { membersOf, rewritten, takenOut } from '../shared/rewritten-body.ts'

/**
 * Reranking by Workers AI, in the usual format. Source: Cloudflare's documentation, "Workers AI:
 * bge-reranker-base".
 */

export const isRanking = (model: string): boolean => /\/bge-reranker-/.test(model)

/** Member that requests the documents in the response: the walk reads it and does not send it. */
const RETURNS = 'return_documents'

/** Members without an effect on the order. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(
  'model user max_chunks_per_doc max_chunk_per_doc overlap_tokens'.split(' '),
)

export function rankingEdits(body: ScannedBody): MemberEdit[] {
  const asked = membersOf(body)
  const { query, documents, top_n: top, [RETURNS]: returns, ...others } = asked
  for (const [name, value] of Object.entries(others)) {
    if (value !== null && !LEFT_BEHIND.has(name)) throw unsupportedField(name)
  }
  return rewritten(asked, {
    query,
    contexts: arrayOr(documents).map((document) => ({ text: documentText(document) })),
    ...present({ top_k: top ?? undefined, [RETURNS]: returns }),
  })
}

export const rankingWalk: Walk = async (steps, request) => {
  const { value: returns, sent } = takenOut(request, RETURNS)
  const answer = await steps.fetch(withBody(request, sent))
  if (answer.status !== 200) return answer
  const { response } = recordOr(recordIn(answer).result)
  if (!Array.isArray(response)) return unusable('nothing was ranked')
  const contexts = arrayOr(sent.contexts)
  const results = response.map(recordOr).map(({ id, score }) => ({
    index: id,
    relevance_score: score,
    ...(returns === true ? { document: contexts[Number(id)] } : {}),
  }))
  return jsonAnswer({ results })
}
