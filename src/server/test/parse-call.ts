import type { Endpoint, ParsedInput } from '../../contract/endpoint.ts'
import { bodyClassOf } from '../../contract/endpoint.ts'
import type { Refusal } from '../../contract/errors.ts'
import { AppError } from '../app-error.ts'
import { BODY_LIMITS, bodyTooLarge } from '../http/body-limit.ts'
import { parseInput, type InputSource } from '../http/input/parse-input.ts'
import { expectPlainSentences } from './expect-plain-answer.ts'

/** Input of a call as the framework passes it on; required parts are filled in. */
export interface SentInput {
  params?: Record<string, string>
  query?: Record<string, string | string[]>
  body?: string | Buffer
}

/**
 * Returns the input that a handler receives, without a server; null if parsing rejects the call
 * with one message in each language.
 */
export async function parseCall<E extends Endpoint>(
  endpoint: E,
  { params = {}, query = {}, body = '' }: SentInput,
): Promise<ParsedInput<E> | null> {
  const { bytesMax } = BODY_LIMITS[bodyClassOf(endpoint.options)]
  const source: InputSource = {
    params: { ...paramsOf(endpoint), ...params },
    query: { ...queryOf(endpoint), ...query },
    body: Buffer.from(body),
    headers: {},
    routeOptions: { bodyLimit: bytesMax },
  }
  try {
    // The framework stops reading at the limit.
    if (Buffer.byteLength(body) > bytesMax) throw bodyTooLarge(source)
    // Parsing returns the endpoint's input, as the handlers rely on.
    return (await parseInput(endpoint, source)) as ParsedInput<E>
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expectPlainSentences(error.text('zh'), error.text('en'))
    return null
  }
}

const paramsOf = ({ path }: Endpoint): Record<string, string> =>
  Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, '1']))

const queryOf = ({ options: { whenQuery } }: Endpoint): Record<string, string> =>
  whenQuery === undefined ? {} : { [whenQuery]: '1' }

/**
 * Returns the body after parsing and a rule's check; null if either rejects it with one message in
 * each language.
 */
export async function acceptedBody<E extends Endpoint>(
  endpoint: E,
  body: string | Buffer,
  rule: (body: ParsedInput<E>['body']) => Refusal | null,
): Promise<ParsedInput<E>['body'] | null> {
  const parsed = await parseCall(endpoint, { body })
  if (parsed === null) return null
  const refusal = rule(parsed.body)
  if (refusal === null) return parsed.body
  const { code, params } = refusal
  const error = new AppError(code, params)
  expectPlainSentences(error.text('zh'), error.text('en'))
  return null
}
