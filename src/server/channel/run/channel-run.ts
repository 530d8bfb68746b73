import { setTimeout as passed } from 'node:timers/promises'
import type { RunState } from '../../../contract/channel-api.ts'
import type { App } from '../../app.ts'
import { readRun, saveRun, takeRun, type RunName, type StoredRun } from './channel-run-store.ts'

/** What a run does. */
export interface RunPlan {
  /** Which channels, as the state names them. */
  scope: string
  /** The channels to visit, in their order. */
  ids(): Promise<readonly number[]>
  /** Whether a visit went well. What it throws counts as a failure and does not end the run. */
  visit(id: number): Promise<boolean>
}

/** A run over many channels in the background: one at a time on a database, visible everywhere. */
export interface ChannelRun {
  /** Answers when the run has begun; false, and nothing has, while another one goes on. */
  start(plan: RunPlan): Promise<boolean>
  state(): Promise<RunState>
}

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
    // A server that stops breaks off what it is doing.
    if (!isStopping()) trace.error({ err: error, run: name }, what)
  }

  /** What a person who runs the server leaves between two channels. */
  const pause = (): Promise<void> =>
    passed(config.POLLING_INTERVAL * 1000, undefined, { ref: false, signal: stopping }).catch(
      () => {},
    )

  async function begin({ scope, ids }: RunPlan): Promise<[StoredRun, readonly number[]] | null> {
    const claimed = { node, running: true, scope, done: 0, total: 0, failed: 0 }
    if (!(await takeRun(database, name, claimed))) return null
    try {
      const found = await ids()
      const run = { ...claimed, total: found.length }
      await saveRun(database.write, name, { was: claimed, is: run })
      return [run, found]
    } catch (error) {
      await saveRun(database.write, name, { was: claimed, is: { ...claimed, running: false } })
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
      if (index > 0 && config.POLLING_INTERVAL > 0) await pause()
      // Whoever stops the server does not wait; the run ends with its process.
      if (isStopping()) return
      const isWell = await visit(id).catch((error: unknown) => {
        complain(error, `a visit to channel ${id} broke off`)
        return false
      })
      // A visit that was cut short by that says nothing of its channel.
      if (isStopping()) return
      const next = { ...run, done: run.done + 1, failed: run.failed + (isWell ? 0 : 1) }
      if (!(await saveRun(database.write, name, { was: run, is: next }))) return
      run = next
    }
    await saveRun(database.write, name, { was: run, is: { ...run, running: false } })
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
          .catch((error: unknown) => complain(error, 'a run over channels broke off'))
          .finally(() => {
            goesOn = false
          })
        return true
      } catch (error) {
        goesOn = false
        throw error
      }
    },
    async state() {
      // Asked before the database is: what it says of a run that is over then is its end.
      const isOurs = goesOn
      const { node: worker, ...state } = await readRun(database, name, node)
      // The database says of a run of ours that broke off that it goes on, and of one that has just
      // ended that it is over, while the next one would still be refused.
      return worker === node ? { ...state, running: isOurs } : state
    },
  }
}
