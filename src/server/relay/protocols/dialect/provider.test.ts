import { expect, test } from 'vitest'
import { AppError } from '../../../app-error.ts'
import { finished, type Sent, type Provider } from './provider.ts'

test('rejects a body that the client has nested too deeply', () => {
  // No other member of a provider or a call is read.
  const provider = { edits: () => [] } as unknown as Provider
  const sent = {} as Sent
  const nested = Buffer.from(`{"input":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
  expect(() => finished(provider, sent, nested)).toThrow(AppError)
  expect(() => finished(provider, sent, Buffer.from('{"a":1,"a":2}'))).toThrow('is broken')
})
