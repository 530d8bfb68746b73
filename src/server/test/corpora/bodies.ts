const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))),
  )

/** Bodies that are not JSON objects. */
export const NO_OBJECTS: readonly (readonly [what: string, body: string | Buffer])[] = [
  ['nothing', ''],
  ['blanks', '   '],
  ['null', 'null'],
  ['true', 'true'],
  ['a number', '1'],
  ['a text', '"x"'],
  ['a list', '[]'],
  ['two objects', '{"a":1}{"b":2}'],
  ['a comma too many', '{"a":1,}'],
  ['single quotes', `{'a':1}`],
  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], '{}')],
  ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
  ['NaN', '{"a":NaN}'],
  ['Infinity', '{"a":Infinity}'],
  ['a comment', '{/* */}'],
  ['undefined', '{"a":undefined}'],
  ['half an object', '{"a":'],
  ['a form', 'a=1&b=2'],
  ['a mebibyte of spaces', ' '.repeat(2 ** 20)],
  ['ten thousand brackets', '['.repeat(10_000)],
]

/** Members beside the expected ones that must have no effect. */
export const ODD_MEMBERS: readonly (readonly [what: string, members: string])[] = [
  ['a prototype', '"__proto__":{"role":100,"quota":1}'],
  ['a constructor', '"constructor":{"prototype":{"role":100}}'],
  ['a deep prototype', '"a":{"b":{"__proto__":{"role":100}}}'],
  ['a list that says prototype', '"a":["__proto__"]'],
  ['toString', '"toString":1'],
  ['a length', '"length":1e9'],
  ['then', '"then":1'],
  ['valueOf', '"valueOf":{}'],
  ['a thousand levels', `"a":${'['.repeat(1000)}${']'.repeat(1000)}`],
  ['eight thousand levels', `"a":${'{"a":'.repeat(8000)}1${'}'.repeat(8000)}`],
  ['a hundred thousand members', Array.from({ length: 1e5 }, (_, at) => `"m${at}":0`).join()],
  ['a list of a million', `"a":[${'0,'.repeat(999_999)}0]`],
  ['a long name', `"${'n'.repeat(2 ** 20)}":1`],
  ['a name with the character 0', '"a\\u0000b":1'],
  ['names that differ by composition', '"\u00e9":1,"e\u0301":2'],
]

/** Odd members that exceed the number or depth allowed in a body below the bulk limit. */
export const TOO_MUCH: ReadonlySet<string> = new Set([
  'a thousand levels',
  'eight thousand levels',
  'a hundred thousand members',
  'a list of a million',
  'a long name',
])
