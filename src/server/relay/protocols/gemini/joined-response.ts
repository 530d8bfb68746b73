import type { StreamGatherer } from '../dialect/dialect.ts'
import { arrayOr, isRecord, recordOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Joins a list of responses into one answer: `streamGenerateContent` returns a list without
 * `alt=sse`, and some proxies drop that parameter. Null if it is not such a list.
 */
export function joinedResponse(responses: readonly unknown[]): JsonRecord | null {
  const joined = new JoinedResponse()
  for (const response of responses) {
    if (!isRecord(response)) return null
    joined.add(response)
  }
  return joined.whole()
}

/**
 * Joins responses: parts of a candidate are appended; for every other member the last value counts.
 */
export class JoinedResponse implements StreamGatherer {
  private readonly joined: JsonRecord = {}
  private readonly candidates = new Map<unknown, Candidate>()

  add(response: JsonRecord): void {
    Object.assign(this.joined, response)
    for (const [place, value] of arrayOr(response.candidates).entries()) {
      const sent = recordOr(value)
      const index = sent.index ?? place
      const candidate = this.candidates.get(index) ?? { members: {}, parts: [] }
      this.candidates.set(index, candidate)
      Object.assign(candidate.members, sent)
      for (const part of arrayOr(recordOr(sent.content).parts)) candidate.parts.push(part)
    }
  }

  whole(): JsonRecord {
    const { joined, candidates } = this
    if (candidates.size === 0) return joined
    return { ...joined, candidates: [...candidates.values()].map(wholeOf) }
  }
}

interface Candidate {
  members: JsonRecord
  parts: unknown[]
}

const wholeOf = ({ members, parts }: Candidate): JsonRecord => ({
  ...members,
  content: { ...recordOr(members.content), parts },
})
