import type { FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { bodyClassOf, type Endpoint } from '../../../contract/endpoint.ts'
import { AppError } from '../../app-error.ts'
import { scanJsonObject, type JsonFaultCode } from '../../json/json-scan.ts'
import { BODY_DEPTH_MAX, BODY_LIMITS, bodyTooLarge } from '../body-limit.ts'
import { inflate } from './inflate.ts'
import { inputProblem } from './input-problem.ts'
import { withDeclaredNames } from './member-names.ts'

/** The parts of a request that parsing reads. */
export type InputSource = Pick<FastifyRequest, 'params' | 'query' | 'body' | 'headers'> & {
  routeOptions: Pick<FastifyRequest['routeOptions'], 'bodyLimit'>
}

/**
 * Returns the query as a flat object of texts. If a member is repeated, which Fastify parses into a
 * list, the first value applies, as in One API.
 */
export function queryOf(request: Pick<InputSource, 'query'>): Record<string, string> {
  const query: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.query ?? {})) {
    query[name] = String(Array.isArray(value) ? value[0] : value)
  }
  return query
}

/** Parses the input of a call, each part by the endpoint's shape for it. */
export async function parseInput(endpoint: Endpoint, request: InputSource) {
  const { params, query, body } = endpoint.options
  return {
    params: params === undefined ? undefined : parsed(params, request.params),
    query: query === undefined ? undefined : parsed(query, queryOf(request)),
    body: body === undefined ? undefined : await parsedBody(endpoint, body, request),
  }
}

async function parsedBody(
  { options }: Endpoint,
  shape: z.ZodType,
  request: InputSource,
): Promise<unknown> {
  // A body beyond the limits does not count as a misfit.
  const bytes = await unpackedBody(request)
  const { valuesMax } = BODY_LIMITS[bodyClassOf(options)]
  const isJson = isBoundedJson(bytes, valuesMax)
  try {
    return parsed(shape, withDeclaredNames(shape, jsonOf(bytes, isJson)))
  } catch (error) {
    if (options.misfit === undefined) throw error
    throw new AppError(options.misfit, {}, error)
  }
}

/**
 * Whether the bytes are JSON (RFC 8259). Throws if they contain too many values or are nested too
 * deeply, because parsing and validating such a body would block the event loop.
 */
function isBoundedJson(bytes: Buffer, valuesMax: number): boolean {
  const scanned = scanJsonObject(bytes, {
    depthMax: BODY_DEPTH_MAX,
    keysMax: valuesMax,
    itemsMax: valuesMax,
    valuesMax,
    uniqueKeys: false,
    escapedNames: true,
  })
  if (!('code' in scanned)) return true
  if (BEYOND_LIMITS.has(scanned.code)) {
    throw new AppError('body_too_complex', { values: valuesMax, depth: BODY_DEPTH_MAX })
  }
  // The shape's error states what to send instead of a list, a text or a number.
  return scanned.code === 'not-object'
}

const BEYOND_LIMITS: ReadonlySet<JsonFaultCode> = new Set<JsonFaultCode>([
  'depth',
  'too-many-keys',
  'too-many-items',
  'too-many-values',
])

function jsonOf(bytes: Buffer, isJson: boolean): unknown {
  // Decoding invalid UTF-8 would change a name or a password.
  if (!isUtf8(bytes)) throw new AppError('body_not_utf8')
  if (!isJson) throw new AppError(bytes.length === 0 ? 'body_empty' : 'body_not_json')
  const value: unknown = JSON.parse(bytes.toString('utf8'))
  return value
}

/**
 * Decompresses the body only now: a few bytes can hold megabytes, and the caller is authenticated.
 */
async function unpackedBody(request: InputSource): Promise<Buffer> {
  const bytes = Buffer.isBuffer(request.body) ? request.body : NOTHING
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || bytes.length === 0) return bytes
  const unpacked = await inflate(bytes, encoding, request.routeOptions.bodyLimit)
  if (unpacked === 'too-large') throw bodyTooLarge(request)
  if (typeof unpacked === 'string') throw new AppError('body_packed')
  return unpacked
}

const NOTHING = Buffer.alloc(0)

function parsed(shape: z.ZodType, value: unknown): unknown {
  const result = shape.safeParse(value)
  if (!result.success) {
    const problem = inputProblem(result.error)
    throw problem === null
      ? new AppError('invalid_parameter')
      : new AppError('invalid_field', problem)
  }
  if (holdsUnstorable(result.data)) throw new AppError('invalid_parameter')
  return result.data
}

/**
 * PostgreSQL cannot store U+0000 in a text, and both databases alter lone surrogates. No valid
 * input contains them.
 */
const holdsUnstorable = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.includes('\0') || !value.isWellFormed()
    : typeof value === 'object' && value !== null && Object.values(value).some(holdsUnstorable)
