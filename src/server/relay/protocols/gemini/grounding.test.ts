import { expect, test } from 'vitest'
import { readGrounding, writeGrounding } from './grounding.ts'

const TEXT = '天气：晴 ☀️ 🌡 20°'
const page = { url: 'https://a.example', title: 'A' }
const web = { web: { uri: page.url, title: page.title } }

test('positions are converted from and to bytes, also within a character', () => {
  const cited = [
    { start: 0, end: 2 },
    { start: 3, end: TEXT.length },
    // Between the halves of a surrogate pair.
    { start: 9, end: 10 },
  ]
  const citations = cited.map((span) => ({ ...page, ...span, quote: null }))
  const { groundingMetadata } = writeGrounding(TEXT, [], citations)
  const { groundingSupports } = groundingMetadata as { groundingSupports: unknown[] }
  expect(groundingSupports).toEqual(
    cited.map(({ start, end }) => ({
      segment: {
        startIndex: Buffer.byteLength(TEXT.slice(0, start)),
        endIndex: Buffer.byteLength(TEXT.slice(0, end)),
        text: TEXT.slice(start, end),
      },
      groundingChunkIndices: [0],
    })),
  )
  const read = readGrounding({ groundingChunks: [web], groundingSupports }, TEXT)
  expect(read.citations.slice(0, 2)).toEqual(citations.slice(0, 2))
  for (const endIndex of [1, 4, 10, 20, 99]) {
    const support = { segment: { startIndex: 0, endIndex }, groundingChunkIndices: [0] }
    const [citation] = readGrounding(
      { groundingChunks: [web], groundingSupports: [support] },
      TEXT,
    ).citations
    expect(citation?.end).toBe(Buffer.from(TEXT).subarray(0, endIndex).toString('utf8').length)
  }
})

test('pages and segments that repeat are written once', () => {
  const again = { ...page, start: 0, end: 2, quote: null }
  const other = { ...again, url: 'https://b.example', title: null }
  expect(writeGrounding(TEXT, [], [again, other, again]).groundingMetadata).toMatchObject({
    groundingChunks: [web, { web: { uri: other.url, title: other.url } }],
    groundingSupports: [{ groundingChunkIndices: [0, 1] }],
  })
})

// A malicious upstream may send as many as fit into its answer.
test('thirty thousand citations of a long text take little time', () => {
  const text = 'a'.repeat(1_000_000)
  const spans = Array.from({ length: 30_000 }, (_, index) => ({ start: index, end: index + 9 }))
  const citations = spans.map((span) => ({
    ...span,
    url: `https://a.example/${span.start}`,
    title: null,
    quote: null,
  }))
  const groundingSupports = spans.map(({ start, end }) => ({
    segment: { startIndex: start, endIndex: end },
    groundingChunkIndices: [0],
  }))
  const { user, system } = process.cpuUsage()
  writeGrounding(text, [], citations)
  expect(readGrounding({ groundingChunks: [web], groundingSupports }, text).citations).toHaveLength(
    spans.length,
  )
  const used = process.cpuUsage({ user, system })
  expect((used.user + used.system) / 1000).toBeLessThan(3000)
})

test('overlapping segments do not multiply the text', () => {
  const text = 'a'.repeat(1_000_000)
  const citations = Array.from({ length: 1000 }, (_, end) => ({
    ...page,
    start: 0,
    end: text.length - end,
    quote: null,
  }))
  expect(JSON.stringify(writeGrounding(text, [], citations)).length).toBeLessThan(5_000_000)
})
