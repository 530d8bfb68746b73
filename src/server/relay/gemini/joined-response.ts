import { arrayOr, isRecord, recordOr, type JsonRecord } from '../json/json-value.ts'

/**
 * The answer that a list of responses makes up: `streamGenerateContent` answers with one when
 * nobody says `alt=sse`, and some proxies lose that. Parts of a candidate follow each other; of
 * everything else the last word counts. Null: it is no such list.
 */
export function joinedResponse(responses: readonly unknown[]): JsonRecord | null {
  const joined: JsonRecord = {}
  const candidates = new Map<unknown, Candidate>()
  for (const response of responses) {
    if (!isRecord(response)) return null
    Object.assign(joined, response)
    for (const [place, value] of arrayOr(response.candidates).entries()) {
      const sent = recordOr(value)
      const index = sent.index ?? place
      const candidate = candidates.get(index) ?? { members: {}, parts: [] }
      candidates.set(index, candidate)
      Object.assign(candidate.members, sent)
      for (const part of arrayOr(recordOr(sent.content).parts)) candidate.parts.push(part)
    }
  }
  if (candidates.size > 0) joined.candidates = [...candidates.values()].map(wholeOf)
  return joined
}

interface Candidate {
  members: JsonRecord
  parts: unknown[]
}

const wholeOf = ({ members, parts }: Candidate): JsonRecord => ({
  ...members,
  content: { ...recordOr(members.content), parts },
})
