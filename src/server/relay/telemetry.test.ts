import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../test/otlp-receiver.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  eventually,
  post,
  requestIdOf,
  startRelay,
  stream,
  type RelaySetup,
} from '../test/relay-setup.ts'

const SERVER = 2
const CLIENT = 3
const ERROR = 2

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

describe('an OpenTelemetry collector', () => {
  let receiver: OtlpReceiver
  let setup: RelaySetup | null = null
  beforeEach(async () => {
    receiver = await startOtlpReceiver()
  })
  afterEach(async () => {
    await setup?.close()
    setup = null
    await receiver.close()
  })

  async function start(settings: Record<string, string> = {}): Promise<RelaySetup> {
    setup = await startRelay(undefined, {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      ...settings,
    })
    await setup.app.options.set('RetryTimes', '2')
    return setup
  }
  const spansOf = (requestId: string): ReceivedSpan[] => {
    const call = receiver.spans.find(
      ({ attributes }) => attributes['gatehouse.request_id'] === requestId,
    )
    if (call === undefined) return []
    return [call, ...receiver.spans.filter(({ parentSpanId }) => parentSpanId === call.spanId)]
  }
  const received = (requestId: string): Promise<ReceivedSpan[]> =>
    eventually(() => {
      const spans = spansOf(requestId)
      return spans.length > 0 && spans
    }, 'the spans of the call')

  test('receives a span of each call, with its attempt as child', async () => {
    const relay = await start()
    const model = aModel()
    const channel = await aRoute(relay, model)
    const client = await aClient(relay)
    const answer = await post(relay, client, chatBody(model))
    const [call, attempt] = await received(requestIdOf(answer))
    expect(call).toMatchObject({
      name: `chat ${model}`,
      kind: SERVER,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': model,
        'gen_ai.response.model': model,
        'gen_ai.usage.input_tokens': 11,
        'gen_ai.usage.output_tokens': 7,
        'http.request.method': 'POST',
        'http.response.status_code': 200,
        'url.path': '/v1/chat/completions',
        'gatehouse.outcome': 'answered',
        'gatehouse.quota': 18,
        'gatehouse.channel_id': channel,
        'gatehouse.user_id': client.userId,
      },
    })
    expect(call?.attributes['gen_ai.request.stream']).toBeUndefined()
    expect(attempt).toMatchObject({
      name: `attempt ${model}`,
      kind: CLIENT,
      traceId: call?.traceId,
      attributes: { 'gatehouse.channel_id': channel, 'gen_ai.provider.name': 'openai' },
    })
    expect(receiver.resources[0]).toMatchObject({
      'service.name': 'gatehouse',
      'service.instance.id': relay.app.node,
    })
    expect(JSON.stringify(receiver.spans)).not.toMatch(/What is the answer|forty-two|127\.0\.0\.1/)
  })

  test('receives the usage of a streamed call', async () => {
    const relay = await start()
    const model = aModel()
    await aRoute(relay, model)
    const answer = await stream(relay, await aClient(relay), chatBody(model))
    await answer.text()
    const [call] = await received(requestIdOf(answer))
    expect(call?.attributes).toMatchObject({
      'gen_ai.request.stream': true,
      'gen_ai.usage.output_tokens': 7,
      'gatehouse.quota': 18,
    })
  })

  test('receives a failed attempt and the one that served the call', async () => {
    const relay = await start()
    const model = aModel()
    const failing = await aRoute(relay, model, { words: 'fail-500', priority: 9 })
    const working = await aRoute(relay, model)
    const answer = await post(relay, await aClient(relay), chatBody(model))
    const [call, ...attempts] = await received(requestIdOf(answer))
    expect(call?.status.code).not.toBe(ERROR)
    expect(attempts).toMatchObject([
      {
        status: { code: ERROR },
        attributes: {
          'gatehouse.channel_id': failing,
          'gatehouse.cause': 'status',
          'error.type': '500',
          'http.response.status_code': 500,
        },
      },
      { attributes: { 'gatehouse.channel_id': working } },
    ])
  })

  test('receives the reason of a refused call', async () => {
    const relay = await start()
    const answer = await post(relay, await aClient(relay), chatBody('unknown-model'))
    const [call] = await received(requestIdOf(answer))
    expect(call?.attributes).toMatchObject({
      'error.type': 'no_channel',
      'gatehouse.quota': 0,
      'http.response.status_code': answer.status,
    })
  })

  test('sees spans in the trace of the client, which upstreams join only if configured', async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01` }
    const call = async (settings: Record<string, string>) => {
      const relay = await start(settings)
      const model = aModel()
      await aRoute(relay, model)
      const answer = await post(relay, await aClient(relay), chatBody(model), { headers })
      const spans = await received(requestIdOf(answer))
      const sent = relay.upstream.seen().at(-1)?.headers['traceparent']
      await relay.close()
      setup = null
      return { spans, sent }
    }
    const off = await call({})
    expect(off.spans[0]).toMatchObject({ traceId: TRACE, parentSpanId: PARENT })
    expect(off.sent).toBeUndefined()
    const on = await call({ RELAY_TRACEPARENT: 'true' })
    expect(on.sent).toBe(`00-${TRACE}-${on.spans[1]?.spanId}-01`)
  })

  test('receives metrics when the server stops, with the configured headers', async () => {
    const relay = await start({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc',
      OTEL_SERVICE_NAME: 'relay-1',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    })
    const model = aModel()
    const channel = await aRoute(relay, model)
    await post(relay, await aClient(relay), chatBody(model))
    await relay.close()
    setup = null
    const points = (name: string) => receiver.points.filter((point) => point.name === name)
    expect(points('gen_ai.client.operation.duration')).toMatchObject([
      { count: 1, attributes: { 'gen_ai.request.model': model, 'gen_ai.provider.name': 'openai' } },
    ])
    const tokens = points('gen_ai.client.token.usage')
    expect(tokens.map(({ sum, attributes }) => [attributes['gen_ai.token.type'], sum])).toEqual([
      ['input', 11],
      ['output', 7],
    ])
    expect(points('gatehouse_relay_calls_total')).toMatchObject([
      { value: 1, attributes: { outcome: 'answered', channel } },
    ])
    expect(receiver.resources[0]).toMatchObject({
      'service.name': 'relay-1',
      'deployment.environment.name': 'test',
    })
    expect(new Set(receiver.requests.map(({ path }) => path))).toEqual(
      new Set(['/v1/traces', '/v1/metrics']),
    )
    for (const { headers } of receiver.requests) {
      expect(headers).toMatchObject({ authorization: 'Basic abc' })
    }
  })

  test('receives Protobuf by default, at the addresses of each signal', async () => {
    const relay = await start({
      OTEL_EXPORTER_OTLP_PROTOCOL: '',
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/spans`,
    })
    const model = aModel()
    await aRoute(relay, model)
    await post(relay, await aClient(relay), chatBody(model))
    await relay.close()
    setup = null
    expect(receiver.requests).toMatchObject([
      { path: '/spans', headers: { 'content-type': 'application/x-protobuf' } },
    ])
  })

  test('that refuses data is counted, and calls are served', async () => {
    receiver.status = 400
    const relay = await start()
    const model = aModel()
    await aRoute(relay, model)
    const client = await aClient(relay)
    expect((await post(relay, client, chatBody(model))).status).toBe(200)
    await eventually(async () => {
      const { text } = await relay.call('GET', '/metrics')
      return (
        text.includes('gatehouse_otel_spans_dropped_total{reason="not_sent"} 2') &&
        text.includes('gatehouse_otel_exports_failed_total 1')
      )
    }, 'the counts of lost spans')
    expect((await post(relay, client, chatBody(model))).status).toBe(200)
  })

  test.each([
    { OTEL_SDK_DISABLED: 'true' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' },
  ])('receives nothing with %o', async (settings) => {
    const relay = await start(settings)
    const model = aModel()
    await aRoute(relay, model)
    await post(relay, await aClient(relay), chatBody(model))
    await relay.close()
    setup = null
    expect(receiver.requests).toEqual([])
  })

  test('receives no spans of calls that the sampler leaves out', async () => {
    const relay = await start({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' })
    const model = aModel()
    await aRoute(relay, model)
    await post(relay, await aClient(relay), chatBody(model))
    await relay.close()
    setup = null
    expect(receiver.spans).toEqual([])
    expect(receiver.points).not.toEqual([])
  })
})
