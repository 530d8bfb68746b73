/** Values of an `Authorization` header that are not a valid access token; `good` is a valid one. */
export const wrongAccessTokens = (good: string): (readonly [what: string, header: string])[] => [
  ['a word alone', 'Bearer'],
  ['the word and a blank', 'Bearer '],
  ['the word and blanks', 'Bearer     '],
  ['in lower case', `bearer ${good}`],
  ['another scheme', `Basic ${Buffer.from(`root:${good}`).toString('base64')}`],
  ['the prefix of tokens', 'sk-'],
  ['with that prefix', `sk-${good}`],
  ['in capitals', good.toUpperCase()],
  ['without its end', good.slice(0, -1)],
  ['with more behind it', `${good}0`],
  ['with a channel behind it', `${good}-1`],
  ['with dashes behind it', `${good}--`],
  ['with a quote', `${good}'`],
  ['SQL', `' OR '1'='1`],
  ['a pattern', '%'],
  ['a pattern of its length', '_'.repeat(32)],
  ['twice', `Bearer Bearer ${good}`],
  ['given twice', `${good}, ${good}`],
  ['made up', 'f'.repeat(32)],
  ['null', 'null'],
  ['undefined', 'undefined'],
  ['long', 'a'.repeat(8000)],
]

/** Values of the session cookie that are invalid; `good` is a valid one. */
export const wrongCookies = (good: string): (readonly [what: string, cookie: string])[] => {
  const [id = '', signature = ''] = good.split('.')
  return [
    ['nothing', 'session='],
    ['a word', 'session=x'],
    ['a dot', 'session=.'],
    ['without its signature', `session=${id}`],
    ['with an empty signature', `session=${id}.`],
    ['with another signature', `session=${id}.${signature.toLowerCase()}x`],
    ['another id', `session=${id.slice(0, -1)}.${signature}`],
    ['turned around', `session=${signature}.${id}`],
    ['under another name', `Session=${good}`],
    ['under a longer name', `xsession=${good}`],
    ['long', `session=${'a'.repeat(5000)}`],
    ['JSON', 'session={"id":1,"role":100}'],
    ['escapes', 'session=%00%0d%0a'],
  ]
}
