import { describe, expect, test } from 'vitest'
import { AppError } from '../../app-error.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'
import { countMember, flagMember } from '../protocols/dialect/surface.ts'
import { readForm } from './form.ts'

const TYPE = 'multipart/form-data; boundary=xyz'
const field = (name: string, value: string): string =>
  `--xyz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const file = (name: string, content: string, fileName = 'a.mp3'): string =>
  `--xyz\r\nContent-Disposition: form-data; name="${name}"; filename="${fileName}"\r\n` +
  `Content-Type: audio/mpeg\r\n\r\n${content}\r\n`
const form = (...parts: string[]): Buffer => Buffer.from(`${parts.join('')}--xyz--\r\n`)

function codeOf(bytes: Buffer, type = TYPE): string {
  try {
    readForm(bytes, type)
    return 'read'
  } catch (error) {
    return error instanceof AppError ? error.code : String(error)
  }
}

const COUNT = { min: 1, max: 10, otherwise: 3 }

describe('a form is parsed', () => {
  test('with its texts and files of any content', () => {
    const binary = 'RIFF\r\n--xy\r\n\u0000--xyz'
    const read = readForm(form(field('model', 'whisper-1'), file('file', binary)), TYPE)
    expect(memberValue(read.fields, 'model')).toBe('whisper-1')
    expect(read.files).toMatchObject([{ name: 'file', fileName: 'a.mp3' }])
    expect(read.files[0]?.bytes.toString()).toBe(binary)
  })

  test('also with empty parts, a quoted boundary, bare names and no last line break', () => {
    const bytes = Buffer.from(
      '--x y\r\ncontent-disposition: form-data; name=model\r\n\r\n\r\n--x y--',
    )
    const read = readForm(bytes, 'multipart/form-data; charset=utf-8; boundary="x y"')
    expect(memberValue(read.fields, 'model')).toBe('')
  })

  test.each([
    ['that is said not to be encoded', 'Content-Transfer-Encoding: binary\r\n', 'a.mp3'],
    ['the same of 8 bits', 'content-transfer-encoding:8BIT\r\n', 'a.mp3'],
    ['with a quote in its name', '', 'a\\"b.wav'],
    ['with its path', '', 'C:\\music;new\\a.wav'],
  ])('with a file %s', (_, line, fileName) => {
    const sent = file('file', 'abc', fileName).replace('Content-Type', `${line}Content-Type`)
    const read = readForm(form(field('model', 'm'), sent), TYPE)
    expect(read.files).toMatchObject([{ name: 'file', fileName }])
    expect(read.files[0]?.bytes.toString()).toBe('abc')
  })

  test('and is sent without line breaks before it and without an epilogue', () => {
    const plain = form(file('file', 'abc'))
    const sent = Buffer.concat([Buffer.from('\r\n'), plain, Buffer.from('\r\n--xyz--\r\nmore')])
    expect(readForm(sent, TYPE).bytes).toEqual(plain)
    const named = readForm(readForm(sent, TYPE).withModel('mapped'), TYPE)
    expect(memberValue(named.fields, 'model')).toBe('mapped')
  })

  test('with long texts, such as the voices of known speakers', () => {
    const voice = 'A'.repeat(2 ** 20)
    const read = readForm(form(field('known_speaker_references[]', voice)), TYPE)
    expect(memberValue(read.fields, 'known_speaker_references[]')).toBe(voice)
  })

  test('with short texts after a large file', () => {
    const read = readForm(form(file('file', 'A'.repeat(9 * 2 ** 20)), field('model', 'm')), TYPE)
    expect(memberValue(read.fields, 'model')).toBe('m')
  })

  test('with the maximum number of parts', () => {
    const fields = Array.from({ length: 128 }, (_, index) => field(`f${index}`, 'x'))
    expect(codeOf(form(...fields))).toBe('read')
    expect(codeOf(form(...fields, field('model', 'm')))).toBe('relay_body_invalid')
  })

  test.each([
    ['stream', 'True', (fields: ScannedBody) => flagMember(fields, 'stream'), true],
    ['stream', 'False', (fields: ScannedBody) => flagMember(fields, 'stream'), false],
    ['stream', 'yes', (fields: ScannedBody) => flagMember(fields, 'stream'), null],
    ['n', '', (fields: ScannedBody) => countMember(fields, 'n', COUNT), 3],
    ['n', '2', (fields: ScannedBody) => countMember(fields, 'n', COUNT), 2],
  ])('its %s as %j', (name, value, member, expected) => {
    expect(member(readForm(form(field(name, value)), TYPE).fields)).toBe(expected)
  })

  test('lists may occur several times', () => {
    const read = readForm(form(field('include[]', 'a'), field('include[]', 'b')), TYPE)
    expect(memberValue(read.fields, 'include[]')).toBe('b')
  })
})

describe('its model is replaced', () => {
  test('and every other byte stays', () => {
    const bytes = form(file('file', 'abc'), field('model', 'asked'), field('language', 'de'))
    const sent = readForm(bytes, TYPE).withModel('mapped')
    expect(sent.toString()).toBe(bytes.toString().replace('asked', 'mapped'))
  })

  test('or added if it is missing', () => {
    const bytes = form(file('file', 'abc'))
    const again = readForm(readForm(bytes, TYPE).withModel('mapped'), TYPE)
    expect(memberValue(again.fields, 'model')).toBe('mapped')
    expect(again.files[0]?.bytes.toString()).toBe('abc')
  })
})

describe('a form that two parsers could read differently is rejected:', () => {
  const good = [field('model', 'm'), file('file', 'abc')]
  const head = (line: string): Buffer => form(`--xyz\r\n${line}\r\n\r\nm\r\n`)
  test.each([
    ['a field twice', form(field('model', 'a'), field('model', 'b'))],
    ['another spelling of a known field', form(field('Model', 'a'))],
    ['a known field as a file', form(file('model', 'm'))],
    ['an escaped name', form(field('mo\\"del', 'm'))],
    ['a name twice', head('Content-Disposition: form-data; name="a"; name="model"')],
    ['an extended name', head('Content-Disposition: form-data; name="a"; name*=utf-8\'\'model')],
    [
      'two dispositions',
      head(
        'Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="model"',
      ),
    ],
    ['no disposition', head('Content-Type: text/plain')],
    [
      'an encoded part',
      head('Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: base64'),
    ],
    ['a folded head', head('Content-Disposition: form-data;\r\n name="model"')],
    ['something before it', Buffer.concat([Buffer.from('preamble\r\n'), form(...good)])],
    ['half a line break before it', Buffer.concat([Buffer.from('\rx'), form(...good)])],
    ['its other half', Buffer.concat([Buffer.from('x\n'), form(...good)])],
    [
      'a quote that is one for some, and ends the name for others',
      form(field('model', 'm'), file('file', 'abc', 'a\\"; name=\\"model')),
    ],
    ['a backslash in the name', form(field('mo\\del', 'm'))],
    ['no end', Buffer.from(good.join(''))],
    [
      'bare line feeds',
      Buffer.from(
        form(...good)
          .toString()
          .replaceAll('\r\n', '\n'),
      ),
    ],
    [
      'no UTF-8',
      Buffer.concat([
        Buffer.from(field('model', '').slice(0, -2)),
        Buffer.from([0xff]),
        Buffer.from('\r\n--xyz--'),
      ]),
    ],
    ['a text too long', form(field('prompt', 'A'.repeat(8 * 2 ** 20 + 1)))],
    ['a head without end', form(`--xyz\r\nX: ${'a'.repeat(5000)}\r\n\r\nm\r\n`)],
    ['nothing', Buffer.alloc(0)],
  ])('%s', (_, bytes) => {
    expect(codeOf(form(...good))).toBe('read')
    expect(codeOf(bytes)).toBe('relay_body_invalid')
  })

  test.each(['file', 'image', 'image[]', 'image[0]', 'mask'])(
    'a file without a file name, which is said: %s',
    (name) => {
      const bytes = Buffer.concat([
        Buffer.from(field(name, '').slice(0, -2)),
        Buffer.alloc(9 * 2 ** 20, 0xff),
        Buffer.from('\r\n--xyz--'),
      ])
      expect(codeOf(bytes)).toBe('form_file_unnamed')
    },
  )

  test.each([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=xyz; boundary=abc',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
    'multipart/form-data; boundary="x\u0001z"',
  ])('no boundary: %s', (type) => {
    expect(codeOf(form(...good), type)).toBe('relay_body_invalid')
  })

  test('truncated anywhere', () => {
    const whole = form(...good)
    for (let length = 0; length < whole.length - 2; length += 1) {
      expect(codeOf(whole.subarray(0, length))).toBe('relay_body_invalid')
    }
  })
})
