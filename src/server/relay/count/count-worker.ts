import { parentPort } from 'node:worker_threads'
import { countRequestTokens } from './count-request.ts'
import type { CountRequest } from './count-request.ts'
import { Tokenizer } from './tokenizer.ts'
import { buildVocabulary, encodingOf } from './vocabulary.ts'
import type { EncodingName } from './vocabulary.ts'

/**
 * The thread that builds vocabularies and counts what would hold up the relay. Started by
 * `count-tokens.ts`; it answers each question in turn.
 */
export type CountQuestion =
  /** Asks for the table, to count small texts where they are. */
  | { kind: 'vocabulary'; encoding: EncodingName }
  | { kind: 'text'; encoding: EncodingName; text: string }
  | { kind: 'request'; request: CountRequest }

export interface CountCall {
  id: number
  question: CountQuestion
}

export type CountReply =
  | { id: number; tokens: number }
  | { id: number; shared: SharedArrayBuffer }
  | { id: number; failure: string }

const tokenizers = new Map<EncodingName, { tokenizer: Tokenizer; shared: SharedArrayBuffer }>()

function prepared(encoding: EncodingName) {
  let entry = tokenizers.get(encoding)
  if (entry === undefined) {
    const vocabulary = buildVocabulary(encoding)
    entry = { tokenizer: new Tokenizer(vocabulary), shared: vocabulary.shared }
    tokenizers.set(encoding, entry)
  }
  return entry
}

function reply({ id, question }: CountCall): CountReply {
  if (question.kind === 'vocabulary') return { id, shared: prepared(question.encoding).shared }
  if (question.kind === 'text') {
    return { id, tokens: prepared(question.encoding).tokenizer.count(question.text) }
  }
  const { tokenizer } = prepared(encodingOf(question.request.model))
  return { id, tokens: countRequestTokens(question.request, tokenizer) }
}

const port = parentPort
if (port === null) throw new Error('count-worker.ts is started as a worker thread')
port.on('message', (call: CountCall) => {
  try {
    port.postMessage(reply(call))
  } catch (error) {
    const failure: CountReply = { id: call.id, failure: String(error) }
    port.postMessage(failure)
  }
})
