import { describe, expect, test } from 'vitest'
import { providerOf } from './registry.ts'
import type { ProviderCall, Task } from '../protocols/dialect/provider.ts'
import { aProviderCall } from '../../test/provider-call.ts'

/** Expected URLs, byte for byte, as in the vendors' API references. */

function urlOf(
  type: number,
  baseUrl: string,
  over: Partial<ProviderCall> & { version?: string } = {},
) {
  const { version = '', ...call } = over
  const to = aProviderCall(call)
  return (
    providerOf(type, to.model, to.task)?.url(
      { type, key: 'k', baseUrl, apiVersion: version },
      to,
    ) ?? null
  )
}

describe('Anthropic', () => {
  test.each<[string, Partial<ProviderCall>, string | null]>([
    ['', {}, 'https://api.anthropic.com/v1/messages'],
    ['https://proxy.example', {}, 'https://proxy.example/v1/messages'],
    ['https://proxy.example/anthropic/v1', {}, 'https://proxy.example/anthropic/v1/messages'],
    ['', { task: 'countTokens' }, 'https://api.anthropic.com/v1/messages/count_tokens'],
    [
      '',
      { clientQuery: new URLSearchParams('beta=true&other=1') },
      'https://api.anthropic.com/v1/messages?beta=true',
    ],
    ['', { task: 'embeddings' }, null],
  ])('%s %j: %s', (base, call, url) => {
    expect(urlOf(14, base, call)).toBe(url)
  })
})

describe('servers compatible with Anthropic', () => {
  test.each([
    ['https://llm.example/anthropic', 'https://llm.example/anthropic/v1/messages'],
    ['https://llm.example/v1', 'https://llm.example/v1/messages'],
    ['', null],
  ])('at %j: %s', (base, url) => {
    expect(urlOf(52, base)).toBe(url)
  })

  test('receive the key in both headers; Anthropic itself receives it in its own header', () => {
    const headersOf = (type: number) => {
      const channel = { type, key: 'k', baseUrl: '', apiVersion: '' }
      return providerOf(type, 'm', 'chat')?.headers(channel, aProviderCall())
    }
    expect(headersOf(52)).toMatchObject({ 'x-api-key': 'k', authorization: 'Bearer k' })
    expect(headersOf(14)).toMatchObject({ 'x-api-key': 'k' })
    expect(headersOf(14)).not.toHaveProperty('authorization')
  })
})

describe('Gemini', () => {
  const host = 'https://generativelanguage.googleapis.com'
  test.each<[string, Partial<ProviderCall> & { version?: string }, string | null]>([
    ['', {}, `${host}/v1beta/models/m:generateContent`],
    ['', { isStream: true }, `${host}/v1beta/models/m:streamGenerateContent?alt=sse`],
    ['', { version: 'v1' }, `${host}/v1/models/m:generateContent`],
    ['https://proxy.example/v1alpha', {}, 'https://proxy.example/v1alpha/models/m:generateContent'],
    ['', { model: 'models/x y' }, `${host}/v1beta/models/x%20y:generateContent`],
    ['', { model: 'tunedModels/x' }, `${host}/v1beta/tunedModels/x:generateContent`],
    ['', { task: 'countTokens' }, `${host}/v1beta/models/m:countTokens`],
    ['', { task: 'embeddings' }, `${host}/v1beta/models/m:batchEmbedContents`],
    ['', { task: 'moderations' }, null],
    // A model name must not lead to another path.
    ['', { model: '../../other' }, null],
    ['', { model: 'a//b' }, null],
    ['', { model: 'x?key=1#y' }, `${host}/v1beta/models/x%3Fkey%3D1%23y:generateContent`],
  ])('%s %j: %s', (base, call, url) => {
    expect(urlOf(24, base, call)).toBe(url)
  })
})

describe('Azure', () => {
  const host = 'https://my.openai.azure.com'
  type AzureRow = [string, Partial<ProviderCall> & { version?: string }, string | null]
  test.each<AzureRow>([
    [host, {}, `${host}/openai/deployments/m/chat/completions?api-version=2024-03-01-preview`],
    [
      host,
      { model: 'gpt-3.5-turbo', version: '2025-04-01-preview' },
      `${host}/openai/deployments/gpt-35-turbo/chat/completions?api-version=2025-04-01-preview`,
    ],
    [host, { version: 'v1' }, `${host}/openai/v1/chat/completions`],
    // URLs of parts of the API. The URL of a dated version contains that version.
    ...['2025-04-01-preview', 'v1', ''].map((version): AzureRow => [
      `${host}/openai/v1`,
      { version },
      `${host}/openai/v1/chat/completions`,
    ]),
    [
      `${host}/openai/v1`,
      { clientQuery: new URLSearchParams({ 'api-version': '2025-04-01-preview' }) },
      `${host}/openai/v1/chat/completions`,
    ],
    [
      'https://my.services.ai.azure.com/api/projects/p/openai/v1',
      { task: 'responses' },
      'https://my.services.ai.azure.com/api/projects/p/openai/v1/responses',
    ],
    ['https://proxy.example/a/openai/v1', {}, 'https://proxy.example/a/openai/v1/chat/completions'],
    ...['/openai', '/openai/deployments', '/openai/deployments/other'].map((path): AzureRow => [
      host + path,
      {},
      `${host}/openai/deployments/m/chat/completions?api-version=2024-03-01-preview`,
    ]),
    // Any server may use this path.
    [
      'https://proxy.example/openai',
      {},
      'https://proxy.example/openai/openai/deployments/m/chat/completions?api-version=2024-03-01-preview',
    ],
    [
      'https://gateway.ai.cloudflare.com/v1/a/b/azure-openai/res',
      { version: '2025-04-01-preview' },
      'https://gateway.ai.cloudflare.com/v1/a/b/azure-openai/res/m/chat/completions?api-version=2025-04-01-preview',
    ],
    ['', {}, null],
    [host, { task: 'moderations' }, null],
  ])('%s %j: %s', (base, call, url) => {
    expect(urlOf(3, base, call)).toBe(url)
  })

  test.each([
    ['keep', 'gpt-4.1'],
    ['remove', 'gpt-41'],
  ])('deployments of a channel that says %s of dots: %s', (deploymentDots, deployment) => {
    const config = { deployment_dots: deploymentDots }
    const channel = { type: 3, key: 'k', baseUrl: host, apiVersion: '', config }
    expect(
      providerOf(3, 'gpt-4.1', 'chat')?.url(channel, aProviderCall({ model: 'gpt-4.1' })),
    ).toBe(
      `${host}/openai/deployments/${deployment}/chat/completions?api-version=2024-03-01-preview`,
    )
  })
})

test.each<Task>(['countTokens'])('OpenAI has no %s', (task) => {
  expect(urlOf(1, '', { task })).toBeNull()
})

test('closed services and the proxy type have no provider', () => {
  for (const type of [11, 21, 43]) expect(providerOf(type, 'm', 'chat')).toBeNull()
})
