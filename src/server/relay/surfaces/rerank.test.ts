import { describe, expect, test } from 'vitest'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  expectNothingCharged,
  expectRefusal,
  post,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

const path = '/v1/rerank'
let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

const documentsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `text ${i}`)

async function charged(model: string, documents: unknown[]) {
  const answer = await post(setup, client, { model, query: 'q', documents }, { path })
  expect(answer.status).toBe(200)
  expect(answer.json.results).toHaveLength(documents.length)
  return bookedCall(setup, requestIdOf(answer))
}

describe('reranking', () => {
  test('costs the tokens read', async () => {
    const model = await aServedModel(setup)
    expect((await charged(model, documentsOf(3))).quota).toBe(18)
  })

  test('costs its searches for a model priced by the search', async () => {
    await aRoute(setup, 'rerank-v3.5')
    // $2 for a thousand searches; a search has at most a hundred documents.
    expect((await charged('rerank-v3.5', documentsOf(3))).quota).toBe(1000)
    const { quota, detail, log } = await charged('rerank-v3.5', documentsOf(250))
    expect(quota).toBe(3000)
    // The upstream has reported its tokens; the searches are counted here.
    expect(detail).toMatchObject({ model_price: '0.002', usage_source: 'estimated' })
    expect(log.content).toBe('价格：$0.002 × 1.00')
  })

  test('costs an estimate if tokens are missing', async () => {
    const model = await aServedModel(setup, 'no-usage')
    const { quota, detail } = await charged(model, documentsOf(2))
    expect(detail.usage_source).toBe('estimated')
    expect(quota).toBeGreaterThan(2)
  })

  test('in Cohere’s format', async () => {
    const model = await aServedModel(setup, 'cohere-like')
    expect((await charged(model, documentsOf(2))).detail).toMatchObject({
      usage_source: 'estimated',
    })
  })

  test.each([
    ['Cohere', 35, { meta: { billed_units: { search_units: 7 } } }],
    ['OpenRouter', 20, { usage: { search_units: 7, total_tokens: 150 } }],
  ])('costs the searches that %s counts, more where documents are long', async (...told) => {
    const [, type, members] = told
    const upstream = await startScriptedUpstream((_request, response) => {
      const results = documentsOf(2).map((_text, index) => ({ index, relevance_score: 0.5 }))
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ id: 'r-1', results, ...members }))
    })
    const model = aModel()
    const mapping = JSON.stringify({ [model]: 'rerank-v3.5' })
    await aRoute(setup, model, { type, base_url: upstream.url, model_mapping: mapping })
    const { quota, detail } = await charged(model, documentsOf(2))
    expect({ quota, source: detail.usage_source }).toEqual({ quota: 7000, source: 'upstream' })
    await upstream.close()
  })

  test.each([
    [{ documents: ['a'] }, 'relay_field_required', 'query'],
    [{ query: 'q' }, 'relay_field_required', 'documents'],
    [{ query: 'q', documents: [] }, 'relay_field_required', 'documents'],
    [{ query: 'q', documents: 'a' }, 'relay_field_invalid', 'documents'],
    [{ query: 5, documents: ['a'] }, 'relay_field_invalid', 'query'],
  ] as const)('of nothing is refused: %j', async (body, code, field) => {
    const model = await aServedModel(setup)
    const answer = await post(setup, client, { model, ...body }, { path })
    expectRefusal(answer, {
      code,
      status: 400,
      params: { field },
      wireCode: 'invalid_text_request',
    })
  })

  test('a response without a list of results is unreadable', async () => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.end('{"code":0,"data":{"page":"console"},"msg":"ok"}')
    })
    const own = await aClient(setup)
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const body = { model, query: 'q', documents: ['a'] }
    expect((await post(setup, own, body, { path })).status).toBe(500)
    await expectNothingCharged(setup, own)
    await upstream.close()
  })

  test('costs nothing if it failed', async () => {
    const own = await aClient(setup)
    for (const words of ['fail-500', 'error-200', 'html-200', 'fail-empty']) {
      const model = await aServedModel(setup, words)
      const body = { model, query: 'q', documents: ['a'] }
      expect((await post(setup, own, body, { path })).status).toBeGreaterThanOrEqual(400)
    }
    await expectNothingCharged(setup, own)
  })
})
