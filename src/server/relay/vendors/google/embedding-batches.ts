import { sumOfCounts, textsInParts } from '../shared/embedding-parts.ts'
import { arrayOr, recordOr } from '../../json/json-value.ts'
import { jsonAnswer } from '../../transport/json-steps.ts'

/**
 * Maximum texts per batch, in either dialect: "at most 100 requests can be in one batch"
 * (lancedb/lancedb#3618, StarTrail-org/LEANN#214).
 */
export const BATCH_MAX = 100

/** Splits the texts of a client of another dialect into several batches. */
export const batchWalk = textsInParts({
  member: 'requests',
  most: () => BATCH_MAX,
  join(answers) {
    const embeddings = answers.flatMap((answer) => arrayOr(answer.embeddings))
    const counts = answers.map(({ usageMetadata }) => recordOr(usageMetadata).promptTokenCount)
    const promptTokenCount = sumOfCounts(counts)
    return jsonAnswer({
      embeddings,
      ...(promptTokenCount === null ? {} : { usageMetadata: { promptTokenCount } }),
    })
  },
})
