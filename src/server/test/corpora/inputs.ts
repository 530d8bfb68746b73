/**
 * Bodies, values, queries and ids that every endpoint must answer without a fault.
 */

const LONG_BYTES = 60 * 1024
/** Maximum size that every body may have. */
export const LONG = 'x'.repeat(LONG_BYTES)

/** Bodies as bytes. */
export const RAW_BODIES: Record<string, string> = {
  nothing: '',
  blanks: '   ',
  'no JSON': 'name=x&key=y',
  'half of an object': '{"name":"x"',
  'two objects': '{}{}',
  'a byte order mark': '\uFEFF{}',
  null: 'null',
  'a number': '1e999',
  'a text': '"text"',
  'a list': '[{}]',
  'lists in lists': '['.repeat(30_000) + ']'.repeat(30_000),
  'objects in objects': '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000),
  'a prototype': '{"__proto__":{"role":100},"constructor":{"prototype":{"role":100}}}',
  'a name given twice': '{"id":1,"id":2,"name":"x","name":"y"}',
  'names that nobody asked for': `{"${'n'.repeat(LONG_BYTES)}":1}`,
  'many members': `{${Array.from({ length: 5000 }, (_, index) => `"m${index}":0`).join()}}`,
}

/** Values that every member of a body is set to, all together and each alone. */
export const VALUES: Record<string, unknown> = {
  null: null,
  true: true,
  zero: 0,
  'minus one': -1,
  'a fraction': 0.5,
  'more than 32 bits': 2 ** 40,
  'more than a number holds': 1e21,
  'the largest whole number': Number.MAX_SAFE_INTEGER,
  'an empty text': '',
  'a number in quotes': '1',
  'the character 0': 'a\0b',
  'half of a character': '\uD800',
  'a line break': 'a\r\nb: c',
  SQL: `'; DROP TABLE users; --`,
  'a pattern': '%_\\',
  'a long text': LONG,
  'a list': ['x'],
  'an object': { a: { b: {} } },
}

export const QUERIES: Record<string, string> = {
  'nothing in it': '?',
  'every member empty': '?p=&order=&keyword=&type=&channel=&before=&model=&scope=&start_timestamp=',
  'words for numbers': '?p=abc&type=x&channel=NaN&start_timestamp=now&end_timestamp=Infinity',
  'negative numbers': '?p=-1&type=-1&channel=-1&start_timestamp=-1&end_timestamp=-1',
  'large numbers': '?p=999999999999999&type=999999999999999&channel=9007199254740993',
  'larger numbers': '?p=1e400&start_timestamp=99999999999999999999999&end_timestamp=1e21',
  fractions: '?p=0.5&type=1.5',
  'members given twice': '?p=0&p=1&keyword=a&keyword=b&type[]=1&type[a]=2',
  'the character 0': '?keyword=%00&username=%00&token_name=a%00b&model_name=%00&request_id=%00',
  'broken escapes': '?keyword=%E0%A4%A&username=%zz&p=%',
  'bytes that are no text': '?keyword=%FF%FE&username=%C3%28',
  'patterns and SQL': `?keyword=%25_%5C'%22--&order=id;DROP&username='%20OR%201=1`,
  prototypes: '?__proto__=1&constructor=1&__proto__[role]=100&toString=x',
  'a long word': `?keyword=${'x'.repeat(8000)}`,
  'long words': ['username', 'token_name', 'model_name', 'model', 'before']
    .map((member, index) => `${index === 0 ? '?' : '&'}${member}=${'x'.repeat(300)}`)
    .join(''),
}

/** Texts in the place of an id in a path. */
export const IDS = [
  '0',
  '-1',
  'abc',
  '1e3',
  '0x10',
  '9'.repeat(30),
  '%00',
  '..%2F1',
  "1'--",
  '1;2',
  '%F0%9F',
]
