import { startFakeUpstream, type FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import type { Person, Visit } from './visit.ts'

/** Starts a fake upstream and creates a channel to it; the caller closes it. */
export async function connectUpstream(
  { ask, root }: Visit,
  models: readonly string[],
): Promise<FakeUpstream> {
  const upstream = await startFakeUpstream()
  await ask(root, 'POST /api/channel/', {
    name: 'upstream',
    type: 1,
    key: 'sk-upstream',
    base_url: upstream.url,
    models: models.join(),
    group: 'default',
  })
  return upstream
}

/** Creates a token without its own limits for a user and returns its key. */
export async function makeKey({ ask }: Visit, as: Person, more: object = {}): Promise<string> {
  const body = { name: `of ${as.user.username}`, unlimited_quota: true, ...more }
  const { key } = await ask<{ key: string }>(as, 'POST /api/token/', body)
  return `sk-${key}`
}

/** Sends a non-streaming call and returns its request id. Throws if it fails. */
export async function callModel(
  { gatehouse }: Visit,
  key: string,
  { model, content = 'Hello' }: { model: string; content?: string },
): Promise<string> {
  const answer = await fetch(`${gatehouse.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return answer.headers.get('x-oneapi-request-id') ?? ''
}
