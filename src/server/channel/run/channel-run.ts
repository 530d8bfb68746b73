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

/** A visit that did not go well: to which channel, and why, in both languages. */
export type VisitFailure = NonNullable<StoredRun['firstFailure']>

/** How a visit's refusal is told; `clean` takes the channel's secrets out of a text. */
export const visitFailure = (
  channel: { id: number; name: string | null },
  { code, params }: Refusal,
  clean: (text: string) => string,
): VisitFailure => ({
  channel: channel.name || `#${channel.id}`,
  zh: clean(errorText(code, 'zh', params)),
  en: clean(errorText(code, 'en', params)),
})

/** What a run does. */
export interface RunPlan {
  /** Which channels, as the state names them. */
  scope: string
  /** The channels to visit, in their order. */
  ids(): Promise<readonly number[]>
  /**
   * Answers why a visit did not go well, or null: it did. What it throws counts as a failure and
   * does not end the run.
   */
  visit(id: number): Promise<VisitFailure | null>
}

/** A run over many channels in the background: one at a time on a database, visible everywhere. */
export interface ChannelRun {
  /** Answers when the run has begun; false, and nothing has, while another one goes on. */
  start(plan: RunPlan): Promise<boolean>
  state(language: Language): Promise<RunState>
}

/** After what time a note of how far a run has come is tried again. */
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
    // A server that stops breaks off what it is doing.
    if (!isStopping()) trace.error({ err: error, run: name }, what)
  }

  const pause = (ms: number): Promise<void> =>
    passed(ms, undefined, { ref: false, signal: stopping }).catch(() => {})

  /**
   * Writes how far a run has come, when the database is back if it is away: as long as a process
   * lives, others believe what it has noted. False: the run is another process's by now, or this
   * one stops.
   */
  async function note(change: { was: StoredRun; is: StoredRun }): Promise<boolean> {
    let hasFailed = false
    while (!isStopping()) {
      try {
        if (await saveRun(database.write, name, change)) return true
        // One whose answer was lost may have been written.
        const { is } = change
        return hasFailed && (await saveRun(database.write, name, { was: is, is }))
      } catch (error) {
        if (!hasFailed) complain(error, 'how far a run over channels has come was not noted')
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
      // Whoever stops the server does not wait; the run ends with its process.
      if (isStopping()) return
      const failure = await visit(id).catch((error: unknown): VisitFailure => {
        complain(error, `a visit to channel ${id} broke off`)
        return visitFailure({ id, name: null }, { code: 'internal' }, (text) => text)
      })
      // A visit that was cut short by that says nothing of its channel.
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
    async state(language) {
      // Asked before the database is: what it says of a run that is over then is its end.
      const isOurs = goesOn
      const { node: worker, firstFailure: first, ...run } = await readRun(database, name, node)
      const first_failure = first && { channel: first.channel, message: first[language] }
      const state = { ...run, first_failure }
      // The database says of a run of ours that broke off that it goes on, and of one that has just
      // ended that it is over, while the next one would still be refused.
      return worker === node ? { ...state, running: isOurs } : state
    },
  }
}
