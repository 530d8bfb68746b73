import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Value = string | number | boolean
interface Attribute {
  key: string
  value: {
    stringValue?: string
    intValue?: number | string
    doubleValue?: number
    boolValue?: boolean
  }
}

export interface ReceivedSpan {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  status: { code: number }
  attributes: Record<string, Value | undefined>
}

export interface ReceivedPoint {
  name: string
  attributes: Record<string, Value | undefined>
  /** Number of values of a histogram. */
  count?: number
  sum?: number
  /** Value of a counter or gauge. */
  value?: number
}

interface Json {
  [member: string]: Json & Json[]
}

/** A collector for OTLP over HTTP. It reads JSON; of Protobuf it keeps the requests' heads. */
export interface OtlpReceiver {
  url: string
  /** Status of the next responses. */
  status: number
  requests: { path: string; headers: Record<string, unknown> }[]
  resources: Record<string, Value | undefined>[]
  spans: ReceivedSpan[]
  points: ReceivedPoint[]
  close(): Promise<void>
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      receiver.requests.push({ path: request.url ?? '', headers: request.headers })
      const isJson = request.headers['content-type'] === 'application/json'
      if (receiver.status === 200 && isJson) take(receiver, body)
      response.writeHead(receiver.status, { 'Content-Type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${port}`,
    status: 200,
    requests: [],
    resources: [],
    spans: [],
    points: [],
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
  return receiver
}

function take(receiver: OtlpReceiver, body: string): void {
  // Written by the exporter's serializer; a wrong shape fails the test.
  const sent = JSON.parse(body) as Json
  for (const group of [...(sent['resourceSpans'] ?? []), ...(sent['resourceMetrics'] ?? [])]) {
    receiver.resources.push(valuesOf(group['resource']?.['attributes']))
    for (const { spans = [] } of group['scopeSpans'] ?? []) {
      receiver.spans.push(...spans.map((span: Json) => withValues<ReceivedSpan>(span)))
    }
    for (const { metrics = [] } of group['scopeMetrics'] ?? []) {
      receiver.points.push(...metrics.flatMap(pointsOf))
    }
  }
}

function pointsOf(metric: Json): ReceivedPoint[] {
  const { name, histogram, sum, gauge } = metric
  const data = histogram ?? sum ?? gauge
  return (data?.['dataPoints'] ?? []).map((point: Json) => {
    const { asDouble, asInt, ...rest } = point
    return {
      ...withValues<ReceivedPoint>(rest),
      name: String(name),
      value: Number(asDouble ?? asInt),
    }
  })
}

const withValues = <T>(item: Json): T =>
  // See `take`.
  ({ ...item, attributes: valuesOf(item['attributes']) }) as T

function valuesOf(attributes: unknown): Record<string, Value | undefined> {
  // See `take`.
  const list = (attributes ?? []) as Attribute[]
  return Object.fromEntries(
    list.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  )
}
