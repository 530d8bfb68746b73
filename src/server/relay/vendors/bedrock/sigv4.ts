import { createHash, createHmac } from 'node:crypto'

/**
 * AWS Signature Version 4 over the headers and the body of a request. Source: AWS documentation,
 * "Create a signed AWS API request". Except for S3, the canonical path encodes each segment of the
 * sent path once more.
 */
export interface SigningKey {
  accessKeyId: string
  secretKey: string
  /** Session token of temporary keys; null for permanent keys. */
  sessionToken: string | null
  region: string
  service: string
}

export interface ToSign {
  method: string
  url: string
  contentType: string
  body: Buffer
}

const ALGORITHM = 'AWS4-HMAC-SHA256'

/**
 * Returns the headers to send beside `content-type`. `nowSeconds` may differ from AWS's clock by a
 * few minutes.
 */
export function signedHeaders(
  { method, url, contentType, body }: ToSign,
  key: SigningKey,
  nowSeconds: number,
): Record<string, string> {
  const { host } = new URL(url)
  const stamp = stampOf(nowSeconds)
  const bodyHash = sha256(body)
  const sent: Record<string, string> = {
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': stamp,
    ...(key.sessionToken === null ? {} : { 'x-amz-security-token': key.sessionToken }),
  }
  const authorization = authorizationOf(
    { method, url, bodyHash, headers: { ...sent, host, 'content-type': contentType } },
    key,
    stamp,
  )
  return { ...sent, authorization }
}

/** Returns the `Authorization` header, which signs all of these headers. */
export function authorizationOf(
  signed: { method: string; url: string; bodyHash: string; headers: Record<string, string> },
  key: SigningKey,
  stamp: string,
): string {
  const { pathname, searchParams } = new URL(signed.url)
  const headers = Object.entries(signed.headers).toSorted(byName)
  const names = headers.map(([name]) => name).join(';')
  const canonical = [
    signed.method,
    pathname.split('/').map(encoded).join('/'),
    [...searchParams]
      .map((pair) => pair.map(encoded))
      .toSorted(byName)
      .map(joined)
      .join('&'),
    ...headers.map(([name, value]) => `${name}:${value.trim()}`),
    '',
    names,
    signed.bodyHash,
  ].join('\n')
  const day = stamp.slice(0, 8)
  const scope = `${day}/${key.region}/${key.service}/aws4_request`
  const toSign = [ALGORITHM, stamp, scope, sha256(Buffer.from(canonical))].join('\n')
  const signature = hmac(signingKey(key, day), toSign).toString('hex')
  const credential = `Credential=${key.accessKeyId}/${scope}`
  return `${ALGORITHM} ${credential}, SignedHeaders=${names}, Signature=${signature}`
}

const byName = (a: readonly string[], b: readonly string[]): number => {
  const [x, y] = [a.join('\n'), b.join('\n')]
  return x < y ? -1 : x > y ? 1 : 0
}

const joined = (pair: readonly string[]): string => pair.join('=')

/** `20150830T123600Z` */
const stampOf = (nowSeconds: number): string =>
  new Date(nowSeconds * 1000).toISOString().replace(/[-:]|\.\d{3}/g, '')

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const hmac = (key: Buffer | string, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

function signingKey({ secretKey, region, service }: SigningKey, day: string): Buffer {
  const steps = [day, region, service, 'aws4_request']
  return steps.reduce<Buffer>((key, step) => hmac(key, step), Buffer.from(`AWS4${secretKey}`))
}

/** Percent-encodes as RFC 3986 requires, which escapes more than `encodeURIComponent`. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
