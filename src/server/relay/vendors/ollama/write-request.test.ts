import { expect, test } from 'vitest'
import type { DialectName } from '../../protocols/canonical/chat-request.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { dialects } from '../../conversion/dialects.ts'

/** The `think` parameter for each reasoning parameter of the client. */
function thinkOf(model: string, client: DialectName, members: object): unknown {
  const messages = [{ role: 'user', content: 'Hi' }]
  const body = { model, max_tokens: 9000, messages, ...members }
  const request = dialects[client].readRequest(body)
  const to = { model, type: 30, isStream: false, asksForUsage: false }
  return upstreamDialects.ollama.writeRequest(request, to)['think']
}

test('sends `think` to a model that may not reason only for clients that could leave it out', () => {
  const effort = { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }
  const budget = { thinking: { type: 'enabled', budget_tokens: 2000 } }
  for (const model of ['llama3.1:latest', 'qwen3:8b']) {
    expect(thinkOf(model, 'anthropic', effort)).toBeUndefined()
    expect(thinkOf(model, 'anthropic', budget)).toBeUndefined()
    expect(thinkOf(model, 'anthropic', { thinking: { type: 'disabled' } })).toBe(false)
    expect(thinkOf(model, 'openai', { reasoning_effort: 'high' })).toBe(true)
  }
  expect(thinkOf('gpt-oss:20b', 'anthropic', effort)).toBe('high')
})
