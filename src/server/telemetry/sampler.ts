import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type Sampler,
} from '@opentelemetry/sdk-trace'
import type { Config } from '../config.ts'

/** Creates the sampler of `OTEL_TRACES_SAMPLER`. */
export function samplerOf(
  config: Pick<Config, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>,
): Sampler {
  const [, parent, name = ''] = /^(parentbased_)?(.*)$/.exec(config.OTEL_TRACES_SAMPLER) ?? []
  const root = rootSampler(name, config.OTEL_TRACES_SAMPLER_ARG)
  return parent === undefined ? root : new ParentBasedSampler({ root })
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler()
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio)
  return new AlwaysOnSampler()
}
