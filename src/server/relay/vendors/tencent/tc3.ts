import { createHash, createHmac } from 'node:crypto'

/**
 * Tencent Cloud's signature version 3, TC3-HMAC-SHA256, over the action, the host and the body of a
 * POST to `/`. Source: Tencent Cloud API documentation, "Signature v3".
 */
export interface Tc3Key {
  secretId: string
  secretKey: string
}

export interface ToSign {
  /** The product, as in the signature's scope. */
  service: string
  /** Host name that Tencent sees, even behind a proxy. */
  host: string
  action: string
  contentType: string
  body: Buffer
}

const ALGORITHM = 'TC3-HMAC-SHA256'
const SIGNED = 'content-type;host;x-tc-action'

/** The value of `Authorization`; `nowSeconds` is sent beside it as `X-TC-Timestamp`. */
export function tc3Authorization(
  { service, host, action, contentType, body }: ToSign,
  { secretId, secretKey }: Tc3Key,
  nowSeconds: number,
): string {
  const headers =
    `content-type:${contentType.toLowerCase()}\nhost:${host.toLowerCase()}\n` +
    `x-tc-action:${action.toLowerCase()}\n`
  const canonical = `POST\n/\n\n${headers}\n${SIGNED}\n${sha256(body)}`
  const day = new Date(nowSeconds * 1000).toISOString().slice(0, 10)
  const scope = `${day}/${service}/tc3_request`
  const text = `${ALGORITHM}\n${nowSeconds}\n${scope}\n${sha256(canonical)}`
  let key = hmac(`TC3${secretKey}`, day)
  key = hmac(key, service)
  key = hmac(key, 'tc3_request')
  const signature = hmac(key, text).toString('hex')
  return `${ALGORITHM} Credential=${secretId}/${scope}, SignedHeaders=${SIGNED}, Signature=${signature}`
}

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()
