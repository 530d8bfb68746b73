import { describe, expect, test } from 'vitest'
import { scanBody } from '../json/body-scan.ts'
import { streamIn } from '../../test/read-answer.ts'
import { recordOr } from '../json/json-value.ts'
import { imageFigures } from './images.ts'
import { traitsOf } from '../vendors/registry.ts'

/** How a call for these images is measured. */
function meteringOf(
  wish: Record<string, unknown> = {},
  { channelType = 1, isEdit = false }: { channelType?: number; isEdit?: boolean } = {},
) {
  const model = 'gpt-image-1'
  const body = scanBody(Buffer.from(JSON.stringify({ model, prompt: 'a cat', ...wish })))
  if (!body.ok) throw new Error(body.reason)
  const request = { body, form: null, model }
  const figures = isEdit ? imageFigures(request, 'image_edit.completed') : imageFigures(request)
  if ('field' in figures) throw new Error(figures.field)
  const metering = figures.metering?.(model, {
    traits: traitsOf(channelType),
    byImageToken: false,
  })
  if (metering === undefined) throw new Error('no metering')
  return metering
}

const { readAnswer } = meteringOf().reading

// Tokens other than text are image tokens, and charged as such.
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
  expect(readAnswer(answer)).toMatchObject({
    usage: { usage: { completionTokens: 1000, extras: { imageCompletionTokens: drawn } } },
  })
})

const inBytes = (bytes: number) => ({ b64_json: 'A'.repeat(bytes) })
const asAddress = (bytes: number) => ({ url: `data:image/png;base64,${'A'.repeat(bytes)}` })
const told = { revised_prompt: 'a 5" "nail", {a [dog \\', url: '' }

// For any format and size of the images.
test.each([
  [[inBytes(8)], 1],
  [[asAddress(40_000), asAddress(40_000), asAddress(40_000)], 3],
  [[asAddress(8), inBytes(200_000), { ...told, ...asAddress(70_000) }, asAddress(8)], 4],
  [[{ ...told, ...inBytes(70_000) }, told, null, {}, { b64_json: null, url: 'https://a/b' }], 2],
])('the pictures of an answer are counted: case %#', (data, count) => {
  expect(readAnswer(Buffer.from(JSON.stringify({ created: 1, data })))).toMatchObject({
    kind: 'ok',
    usage: { usage: { extras: { pictures: { count } } } },
  })
})

test.each([
  undefined,
  null,
  {},
  { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  // xAI
  { cost_in_usd_ticks: 400_000_000 },
  { input_tokens: 5, output_tokens: 100, total_tokens: 50 },
  { input_tokens: 5, output_tokens: -1 },
  'much',
])('pictures are counted whose upstream counts no tokens, or none that can be: %j', (usage) => {
  const answer = Buffer.from(JSON.stringify({ created: 1, data: [inBytes(8)], usage }))
  expect(readAnswer(answer)).toMatchObject({
    usage: { usage: { completionTokens: 0, extras: { pictures: { count: 1 } } } },
  })
})

test.each([[[]], [[told]], [[{ error: { message: 'blocked' } }]]])(
  'an answer without a picture is none: %j',
  (data) => {
    const answer = Buffer.from(JSON.stringify({ created: 1, data }))
    expect(readAnswer(answer)).toEqual({ kind: 'malformed' })
  },
)

test('an edited image in one piece ends a stream with the event for edits', () => {
  const { reading } = meteringOf({}, { isEdit: true })
  const [piece] = reading.wholeAsEvents({ data: [{ b64_json: 'AA' }] }, false)
  expect(piece?.name).toBe('image_edit.completed')
  expect(piece?.data).toContain('{"type":"image_edit.completed","b64_json":"AA"')
})

describe('a stream', () => {
  const group = { sequential_image_generation: 'auto', stream: true }
  const made = { type: 'image_generation.partial_succeeded', url: 'https://a/b' }
  const edited = { type: 'image_edit.partial_succeeded', url: 'https://a/b' }
  const EDITED = 'image_edit.completed'
  const failed = { type: 'image_generation.partial_failed', error: { code: 'Sensitive' } }
  const shown = { type: 'image_generation.partial_image', b64_json: 'AA' }
  const done = (usage?: unknown) => ({ type: 'image_generation.completed', usage })
  const generated = (count: unknown) =>
    done({ generated_images: count, output_tokens: 65_536, total_tokens: 65_536 })

  test.each([
    ['one of several', { n: 3 }, [shown, done(), done()], 2],
    ['each of a group', group, [made, made, made, made, generated(4)], 4],
    ['of a group before its end', group, [made, made], 2],
    ['of a group that says more than was seen', group, [made, generated(3)], 3],
    ['of a group that says less', group, [made, made, generated(1)], 2],
    ['of a group that says nothing', group, [made, made, done()], 2],
    ['of several that were edited', { n: 3 }, [edited, edited, edited, { type: EDITED }], 3],
    ['but those that failed', group, [made, failed, made, generated(2)], 2],
    ['none where all failed', group, [failed, generated(0)], 0],
    ['no more than were asked for', group, [made, generated(16)], 1],
    ['no fraction', group, [made, made, generated(2.5)], 2],
  ])('is charged for its pictures: %s', (_, wish, events, count) => {
    const { stream } = streamIn(meteringOf(wish).reading, events)
    expect(recordOr(stream.usage.usage?.extras).pictures).toMatchObject({ count })
  })

  test('of a group ends with its single final event', () => {
    const { stream } = streamIn(meteringOf({ ...group, n: 1 }).reading, [made, made, generated(2)])
    expect(stream.isDone).toBe(true)
  })
})

const REPLICATE = 46
test.each([
  [{}, 1, 1],
  [{ n: 3 }, 1, 3],
  [{ n: 2, batch_size: 4 }, 1, 4],
  [{ n: 4, num_outputs: 2 }, 1, 4],
  [{ parameters: { n: 4 } }, 1, 4],
  [{ parameters: { sampleCount: 4 } }, 1, 4],
  [{ sampleCount: 8 }, 1, 8],
  [{ input: { num_outputs: 4 } }, 1, 4],
  [{ number_of_images: 9 }, 1, 9],
  [{ parameters: 'x', input: [4] }, 1, 1],
  [{ sequential_image_generation: 'auto' }, 1, 15],
  [{ sequential_image_generation: 'disabled' }, 1, 1],
  [{ sequential_image_generation_options: { max_images: 4 } }, 1, 1],
  [
    {
      sequential_image_generation: 'auto',
      sequential_image_generation_options: { max_images: 4 },
    },
    1,
    4,
  ],
  // Ark does not accept the member there, and Replicate accepts it only there.
  [{ sequential_image_generation: 'auto', max_images: 4 }, 1, 15],
  [{ sequential_image_generation: 'auto', max_images: 4 }, REPLICATE, 4],
  [{ sequential_image_generation: 'auto' }, REPLICATE, 1],
  [{ enable_interleave: true }, 1, 5],
  [{ parameters: { enable_interleave: true, max_images: 2 } }, 1, 2],
  [{ input: { layer_decomposition: true } }, 1, 17],
])('what can come is the most that any word asks for: %j', (wish, channelType, count) => {
  const { estimate } = meteringOf(wish, { channelType })
  expect(estimate?.extras?.pictures).toMatchObject({ count })
})

test.each([
  [{ batch_size: -1 }, 'batch_size'],
  [{ parameters: { sampleCount: 1e15 } }, 'sampleCount'],
  [{ parameters: { n: 1.5 } }, 'n'],
  [{ input: { num_outputs: {} } }, 'num_outputs'],
  [{ partial_images: 'many' }, 'partial_images'],
])('a number that is none is refused: %j', (wish, field) => {
  expect(() => meteringOf(wish)).toThrow(field)
})
