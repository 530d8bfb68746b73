import { describe, expect, test } from 'vitest'
import { authorizationOf, signedHeaders, type SigningKey } from './sigv4.ts'

/**
 * Test vectors of AWS's "Signature Version 4 test suite". A wrong byte would make every request of
 * a channel fail.
 */
const KEY: SigningKey = {
  accessKeyId: 'AKIDEXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
  region: 'us-east-1',
  service: 'service',
}
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const STAMP = '20150830T123600Z'
const HEADERS = { host: 'example.amazonaws.com', 'x-amz-date': STAMP }
const at = (method: string, path: string) =>
  authorizationOf(
    { method, url: `https://example.amazonaws.com${path}`, bodyHash: EMPTY, headers: HEADERS },
    KEY,
    STAMP,
  )
const signatureIn = (header: string) => header.replace(/^.*Signature=/, '')

test('get-vanilla: the complete header', () => {
  expect(at('GET', '/')).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
      'SignedHeaders=host;x-amz-date, ' +
      'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  )
})

test.each([
  ['post-vanilla', 'POST', '/', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
])('%s', (_name, method, path, signature) => {
  expect(signatureIn(at(method, path))).toBe(signature)
})

describe('the signed headers', () => {
  const request = {
    method: 'POST',
    url: 'https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1%3A0/converse',
    contentType: 'application/json',
    body: Buffer.from('{}'),
  }

  test('contain the time, the hash of the body and the key id', () => {
    const headers = signedHeaders(request, KEY, 1_440_938_160)
    expect(headers).toMatchObject({
      'x-amz-date': STAMP,
      'x-amz-content-sha256': '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    })
    expect(headers.authorization).toContain(
      'SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, ',
    )
    expect(headers).not.toHaveProperty('x-amz-security-token')
  })

  test('change with every part of the request', () => {
    const signed = (over: Partial<typeof request>, key: Partial<SigningKey> = {}) =>
      signedHeaders({ ...request, ...over }, { ...KEY, ...key }, 1_440_938_160).authorization
    const all = [
      signed({}),
      signed({ body: Buffer.from('{ }') }),
      signed({ url: request.url.replace('%3A', ':') }),
      signed({ contentType: 'text/plain' }),
      signed({}, { secretKey: 'other' }),
      signed({}, { sessionToken: 'temporary' }),
      signed({}, { region: 'eu-west-1' }),
    ]
    expect(new Set(all).size).toBe(all.length)
  })
})
