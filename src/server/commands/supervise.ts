import type { Config } from '../config.ts'
import { superviseWorkers } from '../workers.ts'
import { createTrace } from './open.ts'
import { stopOnSignals, stopWithParent } from './signals.ts'

/** Starts `count` server processes that share the port, and runs until a signal ends them. */
export async function supervise(
  config: Config,
  { count, isUnderNpm }: { count: number; isUnderNpm: boolean },
): Promise<void> {
  // The workers continue if the output is closed.
  process.stdout.on('error', () => {})
  const stop = superviseWorkers(count, await createTrace(config))
  stopOnSignals(stop)
  if (isUnderNpm) stopWithParent(stop)
}
