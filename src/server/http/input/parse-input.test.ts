import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { get, post, type Endpoint } from '../../../contract/endpoint.ts'
import {
  byId,
  keyword,
  LenientFilter,
  LenientNumber,
  optional,
  Text,
  WholeNumber,
} from '../../../contract/wire.ts'
import { NO_OBJECTS, ODD_MEMBERS, TOO_MUCH } from '../../test/corpora/bodies.ts'
import { QUERIES, RAW_BODIES, VALUES } from '../../test/corpora/inputs.ts'
import { NUMBERS } from '../../test/corpora/numbers.ts'
import { TEXTS } from '../../test/corpora/texts.ts'
import { labelledEndpoints, membersOf } from '../../test/endpoint-call.ts'
import { forEachValue } from '../../test/for-each-value.ts'
import { parseCall } from '../../test/parse-call.ts'

/** Texts that no database can hold as they are. */
const UNSTORABLE: ReadonlySet<string> = new Set(['the character 0', 'half a character'])

describe('a member of a body', () => {
  const bodyOf = (member: z.ZodType): Endpoint =>
    post('/', {
      name: 'send',
      summary: '',
      access: 'admin',
      bodyClass: 'bulk',
      body: z.object({ member: optional(member) }),
    })
  const parsed = async (endpoint: Endpoint, json: string) =>
    (await parseCall(endpoint, { body: `{"member":${json}}` }))?.body

  test('that is a number is whole, and within what a number and a column hold', () =>
    forEachValue(NUMBERS, async (_what, json, value) => {
      expect(await parsed(bodyOf(WholeNumber), json)).toEqual(
        value === null ? undefined : { member: JSON.parse(json) },
      )
    }))

  test('that is a text arrives whole, and only if it can be stored', () =>
    forEachValue(TEXTS, async (what, text) => {
      const isFine = !UNSTORABLE.has(what) && what !== 'a mebibyte'
      expect(await parsed(bodyOf(Text), JSON.stringify(text))).toEqual(
        isFine ? { member: text } : undefined,
      )
    }))

  test('that is free JSON holds nothing that cannot be stored, however deep it lies', () =>
    forEachValue(TEXTS, async (what, text) => {
      const json = JSON.stringify({ a: [{ b: text }] })
      const isFine = !UNSTORABLE.has(what)
      expect(await parsed(bodyOf(z.unknown()), json)).toEqual(
        isFine ? { member: JSON.parse(json) } : undefined,
      )
    }))

  test('that is a list, a record or one of several words is of that kind', async () => {
    const kinds = [
      [z.array(WholeNumber), '[1,2]'],
      [z.record(z.string(), z.number()), '{"a":1}'],
      [z.enum(['on', 'off']), '"on"'],
      [z.boolean(), 'true'],
    ] as const
    for (const [shape, own] of kinds) {
      expect(await parsed(bodyOf(shape), own)).toEqual({ member: JSON.parse(own) })
      for (const [, other] of kinds.filter(([kind]) => kind !== shape)) {
        expect([own, other, await parsed(bodyOf(shape), other)]).toEqual([own, other, undefined])
      }
    }
  })

  test('ignores undeclared members beside declared ones', () =>
    forEachValue(ODD_MEMBERS, async (what, members) => {
      const ordinary: Endpoint = post('/', {
        name: 'send',
        summary: '',
        access: 'user',
        body: z.object({ member: optional(WholeNumber), role: optional(WholeNumber) }),
      })
      const body = `{"member":5,${members}}`
      expect((await parseCall(ordinary, { body }))?.body).toEqual(
        TOO_MUCH.has(what) ? undefined : { member: 5 },
      )
      expect(Object.prototype).not.toHaveProperty('role')
    }))
})

describe('a member of a query', () => {
  const query = z.object({ page: LenientNumber, type: LenientFilter, ...keyword('').shape })
  const search: Endpoint = get('/', { name: 'search', summary: '', access: 'user', query })

  test('that is a number is one, or counts as 0', () =>
    forEachValue(
      [...TEXTS, ...NUMBERS.map(([what, json]) => [what, json] as const)],
      async (_what, text) => {
        const parsed = await parseCall(search, { query: { page: text, type: text } })
        const plain = /^\d{1,15}$/.test(text) ? Number(text) : 0
        const signed = /^-\d{1,15}$/.test(text) ? Number(text) : plain
        expect(parsed?.query).toEqual({ page: plain, type: signed, keyword: '' })
      },
    ))

  test('that is a word arrives whole, and only if it can be stored and is no novel', () =>
    forEachValue(TEXTS, async (what, text) => {
      const parsed = await parseCall(search, { query: { keyword: text } })
      const isFine = !UNSTORABLE.has(what) && text.length <= 256
      expect(parsed?.query).toEqual(isFine ? { page: 0, type: 0, keyword: text } : undefined)
    }))

  test('that is an id in the path is a number, or nothing’s', () =>
    forEachValue(TEXTS, async (_what, id) => {
      const endpoint: Endpoint = get('/:id', {
        name: 'find',
        summary: '',
        access: 'user',
        params: byId(''),
      })
      expect((await parseCall(endpoint, { params: { id } }))?.params).toEqual({ id: 0 })
    }))
})

/** Whether a text that no database can hold is anywhere in it. */
const holdsUnstorable = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.includes('\0') || !value.isWellFormed()
    : Object.values(Object(value)).some(holdsUnstorable)

const withBody = labelledEndpoints.filter(([, { options }]) => options.body !== undefined)

test.each(withBody)('%s reads any body, or refuses it', async (_label, endpoint) => {
  await forEachValue(Object.entries(RAW_BODIES), (_what, body) => parseCall(endpoint, { body }))
  await forEachValue(NO_OBJECTS, async (_what, body) => {
    expect(await parseCall(endpoint, { body })).toBeNull()
  })
})

test.each(withBody)('%s reads any value of a member, or refuses it', async (_label, endpoint) => {
  const members = membersOf(endpoint.options.body)
  expect(members.length).toBeGreaterThan(0)
  const values = [
    ...Object.values(VALUES).map((value) => JSON.stringify(value)),
    ...NUMBERS.map(([, json]) => json),
  ]
  const rows = members.flatMap((member) => values.map((json) => [member, json] as const))
  await forEachValue(rows, async (member, json) => {
    const parsed = await parseCall(endpoint, { body: `{"${member}":${json}}` })
    if (parsed === null) return
    expect([json.slice(0, 40), holdsUnstorable(parsed.body)]).toEqual([json.slice(0, 40), false])
    // Undeclared members do not reach the handler.
    expect(members).toEqual(expect.arrayContaining(Object.keys(Object(parsed.body))))
  })
})

const withQuery = labelledEndpoints.filter(([, { options }]) => options.query !== undefined)

test.each(withQuery)('%s reads any query, or refuses it', (_label, endpoint) =>
  forEachValue(Object.entries(QUERIES), async (_what, text) => {
    const query = Object.fromEntries(new URLSearchParams(text))
    const parsed = await parseCall(endpoint, { query })
    expect(holdsUnstorable(parsed?.query)).toBe(false)
  }),
)
