import { crc32 } from 'node:zlib'
import type { StreamEvent, StreamLayout } from '../answer.ts'

/** One JSON text per line; an error is an ordinary line. */
export const ndjsonLayout: StreamLayout = {
  contentType: 'application/x-ndjson',
  bytes: ({ data }) => Buffer.from(`${data}\n`),
  error: (message) => ({ data: JSON.stringify({ error: message }) }),
}

/** Cohere's stream reports an error in its last event. */
export const cohereLayout: StreamLayout = {
  contentType: 'text/event-stream',
  bytes: ({ name, data }) => Buffer.from(`event: ${name}\ndata: ${data}\n\n`),
  error: (message) => ({
    name: 'message-end',
    data: JSON.stringify({
      type: 'message-end',
      delta: { finish_reason: 'ERROR', error: message },
    }),
  }),
}

const EXCEPTION = 'serviceUnavailableException'

const exception = (message: string): StreamEvent => ({
  name: EXCEPTION,
  data: JSON.stringify({ message }),
})

export const converseLayout: StreamLayout = {
  contentType: 'application/vnd.amazon.eventstream',
  bytes: ({ name = '', data }) => messageOf(name, data),
  error: exception,
}

/** Anthropic's events within Amazon's binary event stream. */
export const claudeLayout: StreamLayout = {
  contentType: 'application/vnd.amazon.eventstream',
  bytes: ({ name = '', data }) => {
    if (name === EXCEPTION) return messageOf(name, data)
    const isLast = data.includes('"message_stop"')
    const metrics = { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 11 } }
    const sent = isLast ? JSON.stringify({ ...objectIn(data), ...metrics }) : data
    const bytes = Buffer.from(sent).toString('base64')
    return messageOf('chunk', JSON.stringify({ bytes, p: 'abcd' }))
  },
  error: exception,
}

const objectIn = (text: string): object => Object(JSON.parse(text))

/** A message of Amazon's event stream. */
function messageOf(name: string, payload: string): Buffer {
  const isException = name === EXCEPTION
  const headers = Buffer.concat([
    header(isException ? ':exception-type' : ':event-type', name),
    header(':content-type', 'application/json'),
    header(':message-type', isException ? 'exception' : 'event'),
  ])
  const body = Buffer.from(payload)
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + body.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const bytes = Buffer.concat([prelude, headers, body])
  const end = Buffer.alloc(4)
  end.writeUInt32BE(crc32(bytes), 0)
  return Buffer.concat([bytes, end])
}

function header(name: string, value: string): Buffer {
  const head = Buffer.alloc(3)
  head.writeUInt8(7, 0)
  head.writeUInt16BE(Buffer.byteLength(value), 1)
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), head, Buffer.from(value)])
}
