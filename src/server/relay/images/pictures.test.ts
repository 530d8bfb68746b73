import { expect, test } from 'vitest'
import { scanBody } from '../json/body-scan.ts'
import { pictureFigures } from './pictures.ts'

const body = scanBody(Buffer.from('{"model":"gpt-image-1","prompt":"a cat"}'))
const request = body.ok ? { body, form: null, model: 'gpt-image-1' } : null
const figures = request && pictureFigures(request)
const look =
  figures !== null && 'metering' in figures
    ? figures.metering?.('gpt-image-1').reading.look
    : undefined

// What is not text was drawn, and is charged as that.
test.each([
  [120, 880],
  [0, 1000],
  [-1_000_000_000, 1000],
  [5000, 1000],
  [1.5, 1000],
  ['120', 1000],
  [{ toString: 1 }, 1000],
])('of 1000 completion tokens %j are text: %i were drawn', (text_tokens, drawn) => {
  const usage = {
    input_tokens: 10,
    output_tokens: 1000,
    total_tokens: 1010,
    output_tokens_details: { text_tokens },
  }
  const answer = Buffer.from(JSON.stringify({ created: 1, data: [{ b64_json: 'AA' }], usage }))
  expect(look?.(answer, 20_000_000)).toMatchObject({
    usage: { usage: { completionTokens: 1000, extras: { imageCompletionTokens: drawn } } },
  })
})

const inBytes = (bytes: number) => ({ b64_json: 'A'.repeat(bytes) })
const asAddress = (bytes: number) => ({ url: `data:image/png;base64,${'A'.repeat(bytes)}` })
const told = { revised_prompt: 'a 5" "nail", {a [dog \\', url: '' }

// However they come and however large they are.
test.each([
  [[inBytes(8)], 1],
  [[asAddress(40_000), asAddress(40_000), asAddress(40_000)], 3],
  [[asAddress(8), inBytes(200_000), { ...told, ...asAddress(70_000) }, asAddress(8)], 4],
  [[{ ...told, ...inBytes(70_000) }, told, null, {}, { b64_json: null, url: 'https://a/b' }], 2],
])('the pictures of an answer are counted: case %#', (data, count) => {
  expect(look?.(Buffer.from(JSON.stringify({ created: 1, data })), 20_000_000)).toMatchObject({
    kind: 'ok',
    usage: { usage: { extras: { pictures: { count } } } },
  })
})

test.each([undefined, null, { input_tokens: 0, output_tokens: 0, total_tokens: 0 }])(
  'pictures are counted whose upstream counts no tokens: %j',
  (usage) => {
    const answer = Buffer.from(JSON.stringify({ created: 1, data: [inBytes(8)], usage }))
    expect(look?.(answer, 20_000_000)).toMatchObject({
      usage: { usage: { completionTokens: 0, extras: { pictures: { count: 1 } } } },
    })
  },
)

test.each([[[]], [[told]], [[{ error: { message: 'blocked' } }]]])(
  'an answer without a picture is none: %j',
  (data) => {
    const answer = Buffer.from(JSON.stringify({ created: 1, data }))
    expect(look?.(answer, 20_000_000)).toEqual({ kind: 'malformed' })
  },
)

test('a changed picture that comes in one piece ends a stream as a changed one', () => {
  const edits = request && pictureFigures(request, 'image_edit.completed')
  const reading =
    edits !== null && 'metering' in edits ? edits.metering?.('gpt-image-1').reading : undefined
  const [piece] = reading?.wholeAsEvents({ data: [{ b64_json: 'AA' }] }, false) ?? []
  expect(piece?.name).toBe('image_edit.completed')
  expect(piece?.data).toContain('{"type":"image_edit.completed","b64_json":"AA"')
})
