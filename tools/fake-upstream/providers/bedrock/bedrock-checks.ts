import { createHash, createHmac } from 'node:crypto'
import { jsonAnswer, type Answer } from '../../answer.ts'
import type { Call } from '../../call.ts'

/** The only account. */
export const BEDROCK_ACCOUNT = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
  apiKey: 'ABSKQmVkcm9ja0FQSUtleS1vZi10ZXN0cw==',
}
/** Maximum clock skew of a request, in seconds. */
const SKEW_SECONDS = 300

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/bedrock\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/

/** An error of Bedrock outside a stream. */
export function bedrockErrorAnswer(status: number, type: string, message: string): Answer {
  return jsonAnswer({ message }, status, { 'x-amzn-errortype': type })
}

/** Verifies the signature byte by byte; null if it is valid. */
export function signatureProblem(call: Call): Answer | null {
  const problem = problemOf(call)
  return problem === null ? null : bedrockErrorAnswer(403, 'InvalidSignatureException', problem)
}

function problemOf(call: Call): string | null {
  if (call.authorization.startsWith('Bearer ')) return bearerProblem(call)
  const [, id, day = '', region, names = '', signature] =
    AUTHORIZATION.exec(call.authorization) ?? []
  if (signature === undefined) return 'Authorization header is malformed'
  if (id !== BEDROCK_ACCOUNT.accessKeyId || region !== BEDROCK_ACCOUNT.region) {
    return 'The security token included in the request is invalid.'
  }
  const list = names.split(';')
  for (const must of ['host', 'x-amz-date', 'x-amz-content-sha256', 'content-type']) {
    if (!list.includes(must)) return `${must} must be signed`
  }
  if (names !== list.toSorted().join(';')) return 'SignedHeaders are not in order'
  const stamp = String(call.headers['x-amz-date'])
  const bodyHash = createHash('sha256').update(call.bytes).digest('hex')
  if (call.headers['x-amz-content-sha256'] !== bodyHash) return 'the body is not what was hashed'
  if (!stamp.startsWith(day) || isOff(stamp)) return 'Signature expired'
  const canonical =
    `${call.method}\n${twiceEncoded(call.rawPath)}\n\n` +
    list.map((name) => `${name}:${String(call.headers[name]).trim()}\n`).join('') +
    `\n${names}\n${bodyHash}`
  const hash = createHash('sha256').update(canonical).digest('hex')
  const text = `AWS4-HMAC-SHA256\n${stamp}\n${day}/${region}/bedrock/aws4_request\n${hash}`
  const expected = createHmac('sha256', derivedKey(day)).update(text).digest('hex')
  if (expected === signature) return null
  return 'The request signature we calculated does not match the signature you provided.'
}

/** A Bedrock API key is sent as it is, without a signature. */
function bearerProblem({ authorization, headers }: Call): string | null {
  if (authorization !== `Bearer ${BEDROCK_ACCOUNT.apiKey}`) return 'Authentication failed: API key'
  return headers['x-amz-date'] === undefined ? null : 'x-amz-date belongs to a signature'
}

/** Tests use a fixed clock: only the format is checked unless the time is close to the real one. */
function isOff(stamp: string): boolean {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp)
  if (parts === null) return true
  const [, year, month, day, hour, minute, second] = parts
  const sentMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (Number.isNaN(sentMs)) return true
  const offSeconds = Math.abs(sentMs - Date.now()) / 1000
  return offSeconds > SKEW_SECONDS && offSeconds < 3600
}

/** Percent-encodes every byte except the unreserved ones, twice. */
const twiceEncoded = (path: string): string =>
  [...Buffer.from(path)]
    .map((byte) => {
      const letter = String.fromCharCode(byte)
      if (/[A-Za-z0-9._~/-]/.test(letter)) return letter
      return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')

function derivedKey(day: string): Buffer {
  const { secretKey, region } = BEDROCK_ACCOUNT
  let key = createHmac('sha256', `AWS4${secretKey}`).update(day).digest()
  key = createHmac('sha256', key).update(region).digest()
  key = createHmac('sha256', key).update('bedrock').digest()
  return createHmac('sha256', key).update('aws4_request').digest()
}
