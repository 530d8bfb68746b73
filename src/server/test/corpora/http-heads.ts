const BODY = '{"username":"x","password":"y"}'
const POST = 'POST /api/user/login HTTP/1.1\r\nHost: localhost\r\n'
const CALL = 'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n'
const GET = 'GET /api/status HTTP/1.1\r\nHost: localhost\r\n'

/**
 * Requests as bytes, and the correct status codes; 0 if the connection ends without a response.
 * More than one response to one request is never correct.
 */
export const HEADS: readonly (readonly [what: string, bytes: string, statuses: number[]])[] = [
  [
    'a length and chunks',
    `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/notice HTTP/1.1\r\n\r\n`,
    [400],
  ],
  ['two different lengths', `${POST}Content-Length: 5\r\nContent-Length: 31\r\n\r\n${BODY}`, [400]],
  [
    'the same length twice',
    `${POST}Content-Length: 31\r\nContent-Length: 31\r\n\r\n${BODY}`,
    [400],
  ],
  ['a length with a sign', `${POST}Content-Length: +31\r\n\r\n${BODY}`, [400]],
  ['a negative length', `${POST}Content-Length: -1\r\n\r\n${BODY}`, [400]],
  ['a list of lengths', `${POST}Content-Length: 31, 31\r\n\r\n${BODY}`, [400]],
  ['an unknown coding', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, [400, 501]],
  ['chunked and more', `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`, [400, 501]],
  ['a chunk without end', `${POST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n`, [400]],
  ['a chunk that is no number', `${POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`, [400]],
  ['a space before the colon', `${GET}Cookie : a=b\r\n\r\n`, [400]],
  ['a folded header', `${GET}X-A: b\r\n c\r\n\r\n`, [400]],
  ['the character 0', `${GET}X-A: b\0c\r\n\r\n`, [400]],
  ['a header of 20 KB', `${GET}X-A: ${'b'.repeat(20_000)}\r\n\r\n`, [431]],
  ['two thousand headers', `${GET}${'X-A: b\r\n'.repeat(2000)}\r\n`, [200, 400, 431]],
  ['no host', 'GET /api/status HTTP/1.1\r\n\r\n', [400]],
  ['two hosts', `${GET}Host: 127.0.0.1\r\n\r\n`, [400]],
  ['one host twice', `${GET}hOST: localhost\r\n\r\n`, [400]],
  ['two hosts of a call', `${CALL}Host: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}`, [400]],
  ['another version', 'GET /api/status HTTP/3.7\r\nHost: localhost\r\n\r\n', [400]],
  ['no version, as of old', 'GET /api/status\r\n\r\n', [0, 200, 400]],
  ['an unknown method', 'PROPFINDX /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n', [400]],
  [
    'a method of 8 KB',
    `${'A'.repeat(8000)} /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    [400, 431],
  ],
  ['a tunnel', 'CONNECT a.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n', [0, 400, 404, 405]],
  ['an upgrade', `${GET}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`, [200]],
  ['an odd expectation', `${POST}Expect: x\r\nContent-Length: 31\r\n\r\n${BODY}`, [200, 417]],
  [
    'another’s address',
    'GET http://127.0.0.1/api/status HTTP/1.1\r\nHost: localhost\r\n\r\n',
    [200, 400, 404],
  ],
  ['a method in a header', `${GET}X-HTTP-Method-Override: DELETE\r\n\r\n`, [200]],
  ['headers that name themselves', `${GET}Connection: content-length, cookie, host\r\n\r\n`, [400]],
  ['an end too soon', `${POST}Content-Length: 500\r\n\r\n${BODY}`, [0, 400, 408]],
]
