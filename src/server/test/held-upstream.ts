import { startScriptedUpstream, type ScriptedUpstream } from './relay-setup.ts'

/** An upstream that lets everybody wait until it is released, so that calls last as tests want. */
export interface HeldUpstream extends ScriptedUpstream {
  /** How many calls have come so far. */
  asked(): number
  /** Answers those who wait, and whoever asks from now on. */
  release(): void
  /** Whoever asks from now on waits, as at the beginning. */
  hold(): void
}

const ANSWER = {
  id: 'held',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 11, completion_tokens: 1, total_tokens: 12 },
}

/** Starts one that gives a short chat, or what it is told to. */
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
