import { createHash } from 'node:crypto'
import { listOf, objectOf, type Json } from '../call.ts'

/** Models that verify the context of a thinking block, and that cannot be forced to call a tool. */
export const isOfLatest = (model: string): boolean =>
  /claude-(?:(?:fable|mythos)-5-[1-9]|(?:opus|sonnet)-5-5)(?!\d)/.test(model)

/**
 * Hashes of all requests so far: a thinking block may only be returned after the messages it
 * followed.
 */
const asked = new Set<string>()

const hashOf = ({ system, tools }: Json, messages: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify([system, tools, messages]))
    .digest('hex')

export const rememberPrefix = (json: Json): void => void asked.add(hashOf(json, json.messages))

/** Reason for which a thinking block is rejected; null if all are accepted. */
export function boundProblem(json: Json): string | null {
  const messages = listOf(json.messages)
  for (const [at, message] of messages.entries()) {
    const place = listOf(objectOf(message).content).findIndex(
      (block) => objectOf(block).type === 'thinking',
    )
    if (place >= 0 && !asked.has(hashOf(json, messages.slice(0, at)))) {
      return (
        `messages.${at}.content.${place}: Invalid \`signature\` in \`thinking\` block. The block ` +
        'is bound to a different conversation. Remove the block, or set ' +
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
      )
    }
  }
  return null
}
