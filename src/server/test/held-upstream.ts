import { startScriptedUpstream, type ScriptedUpstream } from './relay-setup.ts'

/**
 * An upstream that delays all responses until it is released, so that tests control the duration of
 * calls.
 */
export interface HeldUpstream extends ScriptedUpstream {
  /** Number of requests so far. */
  asked(): number
  /** Responds to waiting and later requests. */
  release(): void
  /** Delays later requests again. */
  hold(): void
}

const ANSWER = {
  id: 'held',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 11, completion_tokens: 1, total_tokens: 12 },
}

/** Starts an upstream that returns a short chat, or the given response. */
export async function startHeldUpstream({
  status = 200,
  answer = ANSWER,
}: { status?: number; answer?: object } = {}): Promise<HeldUpstream> {
  let asked = 0
  let gate = Promise.withResolvers<void>()
  const upstream = await startScriptedUpstream((_request, response) => {
    asked += 1
    response.writeHead(status, { 'content-type': 'application/json' })
    void gate.promise.then(() => response.end(JSON.stringify(answer)))
  })
  return {
    ...upstream,
    asked: () => asked,
    release: () => gate.resolve(),
    hold() {
      gate = Promise.withResolvers()
    },
  }
}
