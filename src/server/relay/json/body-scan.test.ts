import fc from 'fast-check'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  BODY_DEPTH_MAX,
  BODY_ITEMS_MAX,
  memberBytes,
  memberObject,
  memberRange,
  memberValue,
  OBJECT_KEYS_MAX,
  scanAnswer,
  scanBody,
} from './body-scan.ts'
import type { BodyFaultCode, ScannedBody } from './body-scan.ts'

const bodyOf = (text: string): ScannedBody => {
  const body = scanBody(Buffer.from(text))
  if (!body.ok) throw new Error(`${body.code} at ${body.offset}: ${body.reason}`)
  return body
}
const faultOf = (bytes: string | Buffer): BodyFaultCode | 'accepted' => {
  const body = scanBody(Buffer.from(bytes))
  return body.ok ? 'accepted' : body.code
}
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

describe('members', () => {
  test('are found with their raw bytes and decoded values', () => {
    const body = bodyOf(
      ' {"model" : "gpt-4o-mini",\n"messages":[{"role":"user","content":"\\u4f60好"}],' +
        '"max_tokens":100 ,"n":2.50} ',
    )
    expect(memberValue(body, 'model')).toBe('gpt-4o-mini')
    expect(memberValue(body, 'messages')).toEqual([{ role: 'user', content: '你好' }])
    expect(memberBytes(body, 'max_tokens')?.toString()).toBe('100')
    expect(memberBytes(body, 'n')?.toString()).toBe('2.50')
    expect(memberValue(body, 'stream')).toBeUndefined()
    expect(memberBytes(body, 'stream')).toBeNull()
  })

  test('keep numbers as they were written', () => {
    const body = bodyOf('{"a":1e-7,"b":12345678901234567890,"c":-0.0,"d":1E+5}')
    const spelled = ['a', 'b', 'c', 'd'].map((name) => memberBytes(body, name)?.toString())
    expect(spelled).toEqual(['1e-7', '12345678901234567890', '-0.0', '1E+5'])
  })

  test('inside a member can be reached', () => {
    const body = bodyOf('{"stream_options":{"include_usage": true ,"x":1}}')
    const options = memberObject(body, 'stream_options')
    expect(options && memberValue(options, 'include_usage')).toBe(true)
    expect(memberObject(bodyOf('{"stream_options":null}'), 'stream_options')).toBeNull()
  })

  test('of a nested object are not taken for top-level ones', () => {
    expect(memberRange(bodyOf('{"metadata":{"model":"x"}}'), 'model')).toBeNull()
    expect(memberRange(bodyOf('{"x":"model","y":["model"]}'), 'model')).toBeNull()
  })

  test('named like object internals are plain keys', () => {
    const text =
      '{"__proto__":{"role":100},"constructor":{"prototype":{}},"toString":1,"then":1,"length":1e9}'
    const body = bodyOf(text)
    expect(memberBytes(body, '__proto__')?.toString()).toBe('{"role":100}')
    expect(memberBytes(body, 'length')?.toString()).toBe('1e9')
    expect(memberBytes(body, 'valueOf')).toBeNull()
  })
})

describe('a body is refused', () => {
  const cases: [string, string | Buffer, BodyFaultCode][] = [
    ['empty', '', 'empty'],
    ['null', 'null', 'not-object'],
    ['true', 'true', 'not-object'],
    ['a number', ' 1 ', 'not-object'],
    ['a string', '"x"', 'not-object'],
    ['an array', '[]', 'not-object'],
    ['two objects', '{"a":1}{"b":2}', 'trailing'],
    ['garbage after', '{} x', 'trailing'],
    ['a second comma', '{"a":1,}', 'syntax'],
    ['single quotes', "{'a':1}", 'syntax'],
    ['a byte order mark', '\ufeff{}', 'bom'],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le'), 'syntax'],
    [
      'a broken UTF-8 sequence',
      Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
      'encoding',
    ],
    ['an overlong UTF-8 sequence', Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22]), 'encoding'],
    ['NaN', '{"a":NaN}', 'syntax'],
    ['Infinity', '{"a":-Infinity}', 'syntax'],
    ['a comment', '{/* */"a":1}', 'syntax'],
    ['undefined', '{"a":undefined}', 'syntax'],
    ['unclosed object', '{"a":1', 'syntax'],
    ['unclosed string', '{"a":"1', 'syntax'],
    ['unclosed escape', '{"a":"\\', 'syntax'],
    ['nothing but spaces', ' '.repeat(1 << 20), 'syntax'],
    ['leading zero', '{"a":01}', 'syntax'],
    ['lone minus', '{"a":-}', 'syntax'],
    ['no fraction', '{"a":1.}', 'syntax'],
    ['no exponent', '{"a":1e}', 'syntax'],
    ['plus sign', '{"a":+1}', 'syntax'],
    ['a raw line break in a string', '{"a":"x\ny"}', 'syntax'],
    ['a raw NUL in a key', '{"a\0":1}', 'syntax'],
    ['an unknown escape', '{"a":"\\x41"}', 'syntax'],
    ['a short unicode escape', '{"a":"\\u12g4"}', 'syntax'],
    ['a truncated word', '{"a":tru', 'syntax'],
    ['depth 65', nested(BODY_DEPTH_MAX + 1), 'depth'],
    ['depth 1,000', nested(1_000), 'depth'],
    ['depth 1,000,000', nested(1_000_000), 'depth'],
    ['a key twice, equal values', '{"model":"a","model":"a"}', 'duplicate-key'],
    ['a key twice, nested', '{"a":[{"b":{"c":1,"c":2}}]}', 'duplicate-key'],
    ['a key twice, once escaped', '{"中":1,"\\u4e2d":2}', 'duplicate-key'],
    ['a key twice, both escaped otherwise', '{"x\\u002f":1,"x\\/":2}', 'duplicate-key'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}', 'duplicate-key'],
    ['capitals', '{"model":"dear","MODEL":"cheap"}', 'disguised-key'],
    ['one capital', '{"Max_tokens":1}', 'disguised-key'],
    ['escapes', '{"mod\\u0065l":"x"}', 'disguised-key'],
    ['escapes in a name with capitals', '{"serviceT\\u0069er":"flex"}', 'disguised-key'],
    [
      'escapes in a name that is read by one surface only',
      '{"\\u0062ackground":true}',
      'disguised-key',
    ],
    ['escapes in a nested name', '{"a":[{"maxOutputT\\u006fkens":1}]}', 'disguised-key'],
    ['capitals of such a name', '{"Previous_Response_Id":"x"}', 'disguised-key'],
    ['capitals of what names a conversation', '{"Metadata":{"user_id":"x"}}', 'disguised-key'],
    ['another spelling of Gemini’s', '{"GenerationConfig":{}}', 'disguised-key'],
    ['the Unicode letters that fold to ASCII', '{"\u017ftream":true}', 'disguised-key'],
    ['the Kelvin sign', '{"max_to\u212aens":1}', 'disguised-key'],
    ['a disguised include_usage', '{"stream_options":{"INCLUDE_USAGE":false}}', 'disguised-key'],
  ]
  test.each(cases)('%s', (_, bytes, code) => {
    expect(faultOf(bytes)).toBe(code)
  })

  test('with the offset and the key of the fault', () => {
    expect(scanBody(Buffer.from('{"é":1,"b":1,"\\u00e9":2}'))).toMatchObject({
      code: 'duplicate-key',
      offset: 15,
      key: 'é',
    })
    expect(scanBody(Buffer.from('{"é":{"a\\u0062":1}}'))).toMatchObject({
      code: 'disguised-key',
      offset: 8,
      key: 'ab',
    })
    expect(scanBody(Buffer.from('{"a":1,"STREAM":true}'))).toMatchObject({
      code: 'disguised-key',
      offset: 8,
      key: 'STREAM',
    })
    expect(scanBody(Buffer.from('{"stream_options": {"Include_usage":1}}'))).toMatchObject({
      offset: 21,
    })
    const broken = Buffer.concat([
      Buffer.from('{"a":"é\ufffd'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ])
    expect(scanBody(broken)).toMatchObject({ code: 'encoding', offset: 11 })
  })

  test('when an object has too many keys, and not before', () => {
    const keys = (count: number) =>
      `{"m":{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join()}}}`
    expect(faultOf(keys(OBJECT_KEYS_MAX))).toBe('accepted')
    expect(faultOf(keys(OBJECT_KEYS_MAX + 1))).toBe('too-many-keys')
  })

  test('when it has too many elements in total, except numbers, and not before', () => {
    const list = (element: string, count: number) => Array.from({ length: count }, () => element)
    // The top-level list counts as well.
    expect(faultOf(`{"m":[${list('{}', BODY_ITEMS_MAX - 1).join()}]}`)).toBe('accepted')
    expect(faultOf(`{"m":[${list('{}', BODY_ITEMS_MAX).join()}]}`)).toBe('too-many-items')
    expect(faultOf(`{"m":[${list('""', BODY_ITEMS_MAX).join()}]}`)).toBe('too-many-items')
    expect(faultOf(`{"m":[${list('[""]', BODY_ITEMS_MAX / 2).join()}]}`)).toBe('too-many-items')
    expect(faultOf(`{"input":[${list('7', BODY_ITEMS_MAX * 2).join()}]}`)).toBe('accepted')
  })

  test('when a duplicate key follows many others', () => {
    const keys = Array.from({ length: 500 }, (_, i) => `"k${i}中":0`)
    for (const again of ['k0中', 'k15中', 'k16中', 'k17中', 'k499中', 'k3\\u4e2d']) {
      expect(faultOf(`{${keys.join()},"${again}":1}`)).toBe('duplicate-key')
    }
    expect(faultOf(`{${keys.join()},"k500":1}`)).toBe('accepted')
  })
})

describe('a member that is read by name', () => {
  const relay = path.join(import.meta.dirname, '..')
  const READING =
    /\b(?:member(?:Value|Range|Bytes|Object|Index)|(?:count|text|flag)Member)\(\s*(?:body|form\.fields),\s*'(\w+)'/g
  const readLiterally = readdirSync(relay, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(path.join(relay, file), 'utf8').matchAll(READING)])
    .map(([, name = '']) => name)
  /** Members that the relay reads by lists of names, which the pattern above does not find. */
  const READ_IN_LISTS = [
    'max_completion_tokens',
    'service_tier',
    'speed',
    'inference_geo',
    'fallbacks',
    'models',
    'conversation',
    'context_management',
    'generation_config',
    'generationConfig',
    'image',
    'images',
    'parameters',
    'batch_size',
    'sampleCount',
    'max_images',
    'num_images',
    'num_outputs',
    'number_of_images',
    'enable_interleave',
    'layer_decomposition',
  ]
  /** Members of bodies that the gateway writes, or that decide nothing; an effort has no price. */
  const HARMLESS = new Set([
    'header',
    'parameter',
    'payload',
    'reasoning',
    'reasoning_effort',
    'temperature',
    'top_p',
  ])

  test('has no alternative spelling', () => {
    expect(readLiterally).toContain('model')
    const deciding = [...readLiterally, ...READ_IN_LISTS].filter((name) => !HARMLESS.has(name))
    const open = deciding.filter((name) => faultOf(`{"${name.toUpperCase()}":1}`) === 'accepted')
    expect(open).toEqual([])
  })
})

describe('a body is accepted', () => {
  test.each([
    ['depth 64', nested(BODY_DEPTH_MAX)],
    ['a million elements', `{"input":[${'1,'.repeat(999_999)}1]}`],
    ['a key of 1 MiB', `{"${'k'.repeat(1 << 20)}":1}`],
    ['keys that differ by case and are nobody’s', '{"logitBias":1,"LogitBias":2}'],
    ['keys that differ by composition', '{"\u00e9":1,"e\u0301":2}'],
    ['keys that differ by a lone surrogate', '{"\\ud800":1,"\\ud801":2,"\ufffd":3}'],
    ['escapes in what is no name', '{"a\\/b":1,"\\u4e2d":2,"a\\u0020b":3}'],
    ['Gemini’s own spellings', '{"generationConfig":{},"serviceTier":"x","generation_config":{}}'],
    ['an escaped NUL in a key', '{"a\\u0000":1,"a":2}'],
    ['equal keys in sibling objects', '{"messages":[{"role":"a"},{"role":"b"}]}'],
    ['a known name inside a message', '{"messages":[{"MODEL":"x"}]}'],
    ['all escapes', '{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\uD83d\\ude00"}'],
    ['stream options that are no object', '{"stream_options":true}'],
  ])('%s', (_, text) => {
    expect(faultOf(text)).toBe('accepted')
  })
})

test('reads every object of fast-check like JSON.parse', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (value) => {
      const body = scanBody(Buffer.from(JSON.stringify(value, null, 1)))
      if (!body.ok) {
        expect(body.code).toBe('disguised-key')
        return
      }
      expect(body.members).toHaveLength(Object.keys(value).length * 4)
      for (let at = 0; at < body.members.length; at += 4) {
        const [keyStart, keyEnd, start, end] = body.members.slice(at, at + 4)
        const key: string = JSON.parse(`"${body.bytes.toString('utf8', keyStart, keyEnd)}"`)
        expect(JSON.parse(body.bytes.toString('utf8', start, end))).toEqual(
          JSON.parse(JSON.stringify(value[key])),
        )
      }
    }),
  )
})

/**
 * Mutations of real bodies: what the scan accepts, every parser accepts, and the other way
 * round.
 */
test('accepts exactly what JSON.parse accepts, except for its stricter rules', () => {
  const stricter = new Set([
    'duplicate-key',
    'disguised-key',
    'depth',
    'not-object',
    'encoding',
    'bom',
  ])
  const seed = '{"a":[1,-2.5e+3,true,false,null,"x\\n\\u0041"],"b":{"c":{}},"d":[]}'
  const mutation = fc.tuple(
    fc.nat(seed.length),
    fc.nat(3),
    fc.constantFrom(
      '',
      '"',
      ',',
      ':',
      '{',
      '}',
      '[',
      ']',
      '\\',
      '0',
      '1',
      '.',
      'e',
      '-',
      ' ',
      '\n',
      't',
      '\u00e9',
    ),
  )
  fc.assert(
    fc.property(fc.array(mutation, { maxLength: 4 }), (mutations) => {
      let text = seed
      for (const [at, removed, added] of mutations) {
        text = text.slice(0, at) + added + text.slice(at + removed)
      }
      let isJson = true
      try {
        JSON.parse(text)
      } catch {
        isJson = false
      }
      const fault = faultOf(text)
      if (fault === 'accepted') expect(isJson).toBe(true)
      else if (isJson) expect(stricter).toContain(fault)
    }),
    { numRuns: 2_000 },
  )
})

test('never throws for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      scanBody(Buffer.from(bytes))
      scanAnswer(Buffer.from(bytes))
    }),
    { numRuns: 2_000 },
  )
})

describe('scanAnswer', () => {
  test('takes the last of two equal keys, as clients do', () => {
    const answer = scanAnswer(Buffer.from('{"usage":1,"x":{},"usage":2}'))
    expect(answer && memberValue(answer, 'usage')).toBe(2)
  })

  test('is null unless the text is one JSON object', () => {
    expect(scanAnswer(Buffer.from('<html>'))).toBeNull()
    expect(scanAnswer(Buffer.from('{"a":1'))).toBeNull()
    expect(scanAnswer(Buffer.alloc(0))).toBeNull()
  })
})
