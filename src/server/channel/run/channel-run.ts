import { setTimeout as passed } from 'node:timers/promises'
import type { RunState } from '../../../contract/channel-api.ts'
import { errorText, type Language, type Refusal } from '../../../contract/errors.ts'
import type { App } from '../../app.ts'
import {
  IDLE,
  readRun,
  saveRun,
  takeRun,
  type RunName,
  type StoredRun,
} from './channel-run-store.ts'

/** A failed visit: its channel, and the reason in both languages. */
export type VisitFailure = NonNullable<StoredRun['firstFailure']>

/** Builds the failure of a visit; `clean` removes the channel's secrets from a text. */
export const visitFailure = (
  channel: { id: number; name: string | null },
  { code, params }: Refusal,
  clean: (text: string) => string,
): VisitFailure => ({
  channel: channel.name || `#${channel.id}`,
  zh: clean(errorText(code, 'zh', params)),
  en: clean(errorText(code, 'en', params)),
})

/** Plan of a run. */
export interface RunPlan {
  /** Scope of the channels, as shown in the state. */
  scope: string
  /** Returns the channels to visit, in order. */
  ids(): Promise<readonly number[]>
  /**
   * Visits a channel. Returns why it failed, or null. An exception counts as a failure and does not
   * end the run.
   */
  visit(id: number): Promise<VisitFailure | null>
}

/** A background run over many channels: one at a time per database, visible in all processes. */
export interface ChannelRun {
  /** Resolves when the run has begun; false if another one is running. */
  start(plan: RunPlan): Promise<boolean>
  state(language: Language): Promise<RunState>
}

/** Delay before storing the progress is retried. */
const NOTE_RETRY_MS = 1000

interface RunSettings {
  name: RunName
  stopping: AbortSignal | undefined
}

export function createChannelRun(app: App, settings: RunSettings): ChannelRun {
  const { config, database, node, trace } = app
  const { name, stopping } = settings
  let goesOn = false
  const isStopping = (): boolean => stopping?.aborted === true

  function complain(error: unknown, what: string): void {
    // A stopping server aborts its work.
    if (!isStopping()) trace.error({ err: error, run: name }, what)
  }

  const pause = (ms: number): Promise<void> =>
    passed(ms, undefined, { ref: false, signal: stopping }).catch(() => {})

  /**
   * Stores the progress of a run, and retries during a database outage, because other processes
   * rely on it while this one lives. Returns false if another process has claimed the run, or this
   * one stops.
   */
  async function note(change: { was: StoredRun; is: StoredRun }): Promise<boolean> {
    let hasFailed = false
    while (!isStopping()) {
      try {
        if (await saveRun(database.write, name, change)) return true
        // The earlier write may have succeeded although its result was lost.
        const { is } = change
        return hasFailed && (await saveRun(database.write, name, { was: is, is }))
      } catch (error) {
        if (!hasFailed) complain(error, 'could not store the progress of a channel run')
        hasFailed = true
        await pause(NOTE_RETRY_MS)
      }
    }
    return false
  }

  async function begin({ scope, ids }: RunPlan): Promise<[StoredRun, readonly number[]] | null> {
    const claimed = { ...IDLE, node, running: true, scope }
    if (!(await takeRun(database, name, claimed))) return null
    try {
      const found = await ids()
      const run = { ...claimed, total: found.length }
      return (await note({ was: claimed, is: run })) ? [run, found] : null
    } catch (error) {
      await note({ was: claimed, is: { ...claimed, running: false } })
      throw error
    }
  }

  async function visitAll(
    begun: StoredRun,
    ids: readonly number[],
    visit: RunPlan['visit'],
  ): Promise<void> {
    let run = begun
    for (const [index, id] of ids.entries()) {
      if (index > 0 && config.POLLING_INTERVAL > 0) await pause(config.POLLING_INTERVAL * 1000)
      // A stopping server does not wait; the run ends with its process.
      if (isStopping()) return
      const failure = await visit(id).catch((error: unknown): VisitFailure => {
        complain(error, `channel ${id} failed in a channel run`)
        return visitFailure({ id, name: null }, { code: 'internal' }, (text) => text)
      })
      // An aborted visit has no result for its channel.
      if (isStopping()) return
      const next = {
        ...run,
        done: run.done + 1,
        failed: run.failed + (failure === null ? 0 : 1),
        firstFailure: run.firstFailure ?? failure,
      }
      if (!(await note({ was: run, is: next }))) return
      run = next
    }
    await note({ was: run, is: { ...run, running: false } })
  }

  return {
    async start(plan) {
      if (goesOn) return false
      goesOn = true
      try {
        const begun = await begin(plan)
        if (begun === null) {
          goesOn = false
          return false
        }
        const [run, ids] = begun
        void visitAll(run, ids, plan.visit)
          .catch((error: unknown) => complain(error, 'a channel run failed'))
          .finally(() => {
            goesOn = false
          })
        return true
      } catch (error) {
        goesOn = false
        throw error
      }
    },
    async state(language) {
      // Read before the database, so that a finished run is reported as finished.
      const isOurs = goesOn
      const { node: worker, firstFailure: first, ...run } = await readRun(database, name, node)
      const first_failure = first && { channel: first.channel, message: first[language] }
      const state = { ...run, first_failure }
      // The database reports an interrupted run of this process as running, and a run that has just
      // ended as over although the next one would still be rejected.
      return worker === node ? { ...state, running: isOurs } : state
    },
  }
}
