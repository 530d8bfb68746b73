import { ROOT_CONTEXT } from '@opentelemetry/api'
import { ExportResultCode, type ExportResult } from '@opentelemetry/core'
import { TracerProvider, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { boundedProcessor, watched } from './exporters.ts'

test('a collector that does not respond costs spans, which are counted, and no more memory', async () => {
  const losses = { queueFull: 0, notSent: 0, failedExports: 0 }
  const answers: ((result: ExportResult) => void)[] = []
  let sent = 0
  const exporter: SpanExporter = {
    export(spans: ReadableSpan[], told) {
      sent += spans.length
      answers.push(told)
    },
    shutdown: () => Promise.resolve(),
  }
  const processor = boundedProcessor(
    watched(exporter, (_error, spans: ReadableSpan[]) => {
      losses.notSent += spans.length
    }),
    losses,
  )
  const tracer = new TracerProvider({ spanProcessors: [processor] }).getTracer('test')
  for (let count = 0; count < 5000; count += 1) tracer.startSpan('call', {}, ROOT_CONTEXT).end()
  // One request is under way.
  expect(sent).toBe(256)
  expect(losses.queueFull).toBe(5000 - 256 - 2048)
  answers[0]?.({ code: ExportResultCode.FAILED, error: new Error('503') })
  expect(losses.notSent).toBe(256)
})
