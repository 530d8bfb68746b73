import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, present } from '../../json/json-value.ts'
import { documentText } from '../shared/rerank-documents.ts'
import { membersOf, rewritten } from '../shared/rewritten-body.ts'

/**
 * Reranking by models that Bedrock invokes. Cohere's models use the format of Cohere's API v2;
 * Amazon's use the same format without the version. Sources: Cohere, "Rerank on Amazon Bedrock";
 * Amazon Bedrock user guide, "Use a reranker model".
 */

const COHERES = /(?:^|[./])cohere\.rerank-/
const AMAZONS = /(?:^|[./])amazon\.rerank-/

export const isRanking = (model: string): boolean => COHERES.test(model) || AMAZONS.test(model)

const COHERES_VERSION = 2

/** Members without an effect on the order. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(
  'model user return_documents max_chunks_per_doc max_chunk_per_doc overlap_tokens'.split(' '),
)

export function rankingEdits(body: ScannedBody, { model }: ProviderCall): MemberEdit[] {
  const asked = membersOf(body)
  const { query, documents, top_n: top, max_tokens_per_doc: length, ...others } = asked
  for (const [name, value] of Object.entries(others)) {
    if (value !== null && !LEFT_BEHIND.has(name)) throw unsupportedField(name)
  }
  const isCoheres = COHERES.test(model)
  const lengthMax = length ?? undefined
  if (lengthMax !== undefined && !isCoheres) throw unsupportedField('max_tokens_per_doc')
  return rewritten(asked, {
    query,
    documents: arrayOr(documents).map(documentText),
    ...present({ top_n: top ?? undefined, max_tokens_per_doc: lengthMax }),
    ...(isCoheres ? { api_version: COHERES_VERSION } : {}),
  })
}
