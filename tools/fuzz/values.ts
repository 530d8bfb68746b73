import type { Dice } from './dice.ts'

/**
 * Random values for members: mostly valid ones, often at limits, sometimes invalid. Addresses lead
 * nowhere, so that all traffic stays on the machine.
 */

export type Schema = Record<string, unknown>

/** A closed port of this machine. */
export const NOWHERE = 'http://127.0.0.1:9'

const TEXTS = [
  '',
  ' ',
  'root',
  'li.ming',
  'default',
  'default,vip',
  'gpt-4o-mini',
  'true',
  'false',
  '0',
  '1',
  '-1',
  '0.5',
  '1e3',
  '0x10',
  '{}',
  '[]',
  '{"gpt-4o-mini":0.15}',
  '{"a":1,"a":2}',
  '{"region":"us-east-1","ak":"a","sk":"b"}',
  'null',
  'a\u0000b',
  'a\r\nX-Injected: 1',
  '\uD800',
  '\u202Eabc',
  '🙂'.repeat(12),
  '令牌'.repeat(20),
  "'; DROP TABLE users; --",
  '%_\\',
  '<img src=x onerror=alert(1)>',
  '../../etc/passwd',
  '0.0.0.0/0',
  '::1/128',
  '192.0.2.0/33',
  'li.ming@example.com',
  'a@b',
  '"a b"@example.com\nBcc: c@example.com',
  'password-1',
  'x'.repeat(73),
  'x'.repeat(5000),
  NOWHERE,
  `${NOWHERE}/v1/`,
  'javascript:alert(1)',
  'file:///etc/passwd',
  '127.0.0.1',
  '__proto__',
  'constructor',
]

const NUMBERS = [
  0,
  1,
  -1,
  2,
  3,
  10,
  50,
  100,
  0.5,
  -0.5,
  1e3,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 40,
  2 ** 53,
  -(2 ** 53),
  1e21,
  1e308,
]

/** Values outside most schemas. */
const STRANGERS: readonly unknown[] = [null, true, [], {}, [1], { a: 1 }, 'x', 7]

/** Texts by member, for members that contain names unknown to the schema. */
export type Names = Readonly<Record<string, readonly string[]>>

/** A random value for a member; `names` contains better texts for some. */
export function valueFor(dice: Dice, schema: Schema, names: Names, member = ''): unknown {
  if (dice.chance(4)) return dice.pick(STRANGERS)
  const known = names[member]
  if (known !== undefined && dice.chance(85)) return dice.pick(known)
  const branches = [schema['anyOf'] ?? schema['oneOf'] ?? []].flat()
  if (branches.length > 0) return valueFor(dice, Object(dice.pick(branches)), names, member)
  if (Array.isArray(schema['enum']) && dice.chance(80)) return dice.pick(schema['enum'])
  switch (dice.pick([schema['type'] ?? 'string'].flat())) {
    case 'object':
      return objectFor(dice, schema, names)
    case 'array':
      return Array.from({ length: dice.below(3) }, () =>
        valueFor(dice, Object(schema['items']), names),
      )
    case 'integer':
    case 'number':
      return dice.chance(60) ? dice.below(20) : dice.pick(NUMBERS)
    case 'boolean':
      return dice.chance(50)
    case 'null':
      return null
    default:
      return dice.chance(30) ? `名字${dice.below(50)}` : dice.pick(TEXTS)
  }
}

function objectFor(dice: Dice, schema: Schema, names: Names): Schema {
  const members = Object.entries(Object(schema['properties']))
  const value: Schema = {}
  for (const [name, member] of members) {
    if (dice.chance(75)) value[name] = valueFor(dice, Object(member), names, name)
  }
  if (dice.chance(5)) value['role'] = 100
  return value
}
