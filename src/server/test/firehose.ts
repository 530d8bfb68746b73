import { startScriptedUpstream, type ScriptedUpstream } from './relay-setup.ts'

// Data without text, so that counting tokens has no influence.
const CHUNK = `data: {"choices":[{"index":0,"delta":{"content":" word"}}],"bulk":"${'x'.repeat(16_000)}"}\n\n`
const END =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],' +
  '"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n'

/** Number of chunks: 64 MB, far more than sockets and programs buffer. */
export const FIREHOSE_CHUNKS = 4000
export const FIREHOSE_BYTES = CHUNK.length * FIREHOSE_CHUNKS + END.length

export interface Firehose extends ScriptedUpstream {
  /**
   * Chunks written so far, whether it waits for its reader, and whether the reader has
   * disconnected.
   */
  state: { written: number; isPaused: boolean; isLeft: boolean }
}

/** Starts an upstream that streams to one client as fast as it reads, and reports the amount. */
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
