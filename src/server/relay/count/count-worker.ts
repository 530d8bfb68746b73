import { parentPort } from 'node:worker_threads'
import { countRequestTokens } from './count-request.ts'
import type { CountRequest } from './count-request.ts'
import { encodingOf, type EncodingName } from './encoding.ts'
import { loadTokenizer, withLimit, type Tokenizer } from './tokenizer.ts'

/**
 * The thread that counts tokens, so that neither the vocabularies nor long texts block the relay.
 * Started by `count-thread.ts`; it processes requests in order.
 */
export type CountQuestion =
  | { kind: 'text'; model: string; text: string }
  | { kind: 'request'; request: CountRequest }

export interface CountCall {
  id: number
  question: CountQuestion
}

export type CountReply = { id: number; tokens: number } | { id: number; failure: string }

const tokenizers = new Map<EncodingName, Promise<Tokenizer>>()

function tokenizerOf(model: string): Promise<Tokenizer> {
  const encoding = encodingOf(model)
  const tokenizer = tokenizers.get(encoding) ?? loadTokenizer(encoding)
  tokenizers.set(encoding, tokenizer)
  return tokenizer
}

async function count(question: CountQuestion): Promise<number> {
  if (question.kind === 'text') {
    return withLimit(await tokenizerOf(question.model)).count(question.text)
  }
  const { request } = question
  return countRequestTokens(request, withLimit(await tokenizerOf(request.model)))
}

const port = parentPort
if (port === null) throw new Error('count-worker.ts is started as a worker thread')
const answer = (reply: CountReply) => port.postMessage(reply)
port.on('message', ({ id, question }: CountCall) => {
  count(question).then(
    (tokens) => answer({ id, tokens }),
    (error: unknown) => answer({ id, failure: String(error) }),
  )
})
