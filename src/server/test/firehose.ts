import { startScriptedUpstream, type ScriptedUpstream } from './relay-setup.ts'

// Bulk that is no text, so that counting tokens plays no part.
const CHUNK = `data: {"choices":[{"index":0,"delta":{"content":" word"}}],"bulk":"${'x'.repeat(16_000)}"}\n\n`
const END =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],' +
  '"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n'

/** How many chunks it sends: 64 MB, far more than sockets and programs between hold. */
export const FIREHOSE_CHUNKS = 4000
export const FIREHOSE_BYTES = CHUNK.length * FIREHOSE_CHUNKS + END.length

export interface Firehose extends ScriptedUpstream {
  /** Chunks so far, whether it waits to be read, and whether its reader went away. */
  state: { written: number; isPaused: boolean; isLeft: boolean }
}

/** An upstream that streams to one client as fast as it is read, and says how much that is. */
export async function startFirehose(): Promise<Firehose> {
  const state = { written: 0, isPaused: false, isLeft: false }
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.on('close', () => (state.isLeft = !response.writableFinished))
    const pour = (): void => {
      while (state.written < FIREHOSE_CHUNKS) {
        state.written += 1
        if (!response.write(CHUNK)) {
          state.isPaused = true
          response.once('drain', () => {
            state.isPaused = false
            pour()
          })
          return
        }
      }
      response.end(END)
    }
    pour()
  })
  return { ...upstream, state }
}
