import { invalidField } from '../../protocols/canonical/reading.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, isRecord } from '../../json/json-value.ts'

/** Documents are texts, or objects with a text. */
export function documentText(document: unknown): string {
  if (typeof document === 'string') return document
  if (isRecord(document) && typeof document.text === 'string') return document.text
  throw invalidField('documents')
}

/** Converts documents to texts, for upstreams that accept only texts. */
export function documentEdits(body: ScannedBody): MemberEdit[] {
  const documents = arrayOr(memberValue(body, 'documents'))
  if (documents.every((document) => typeof document === 'string')) return []
  return [{ set: 'documents', json: JSON.stringify(documents.map(documentText)) }]
}
