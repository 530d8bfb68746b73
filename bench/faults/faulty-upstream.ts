/** Twenty upstreams in one server, each with its own path, that fail as scripted. */
import {
  startFakeUpstream,
  type FakeUpstream,
  type SeenCall,
} from '../../tools/fake-upstream/fake-upstream.ts'
import { CHANNELS, PHASES, wordsOf, yieldOf } from './fault-script.ts'

/** Calls that one channel received. */
export type Visits = {
  /** Calls by phase. */
  asked: number[]
  /** Calls by phase while it was failing. */
  askedWhileFailing: number[]
  /**
   * Complete responses that it sent, and streams of which it sent a part: these must be charged.
   */
  answered: number
  parts: number
}

export type FaultyUpstream = {
  baseUrl(channel: number): string
  /** Switches to a phase of the script. */
  enter(phase: number): void
  /** Calls by channel, without those that are still open. */
  visits(): Visits[]
  close(): Promise<void>
}

const PATH = /^\/c(\d+)\//

export async function startFaultyUpstream(): Promise<FaultyUpstream> {
  let current = 0
  /** Open calls, with the phase in which they arrived. */
  let open: { call: SeenCall; phase: number }[] = []
  const visits = CHANNELS.map((): Visits => {
    return { asked: zeros(), askedWhileFailing: zeros(), answered: 0, parts: 0 }
  })
  const wordsFor = (path: string): string => {
    const channel = CHANNELS[channelIn(path)]
    const phase = PHASES[current]
    return channel === undefined || phase === undefined ? '' : wordsOf(phase, channel)
  }
  const upstream: FakeUpstream = await startFakeUpstream({ wordsFor })
  const collect = (): void => {
    open.push(...upstream.seen().map((call) => ({ call, phase: current })))
    const ended = open.filter(({ call }) => call.outcome !== 'open')
    open = open.filter(({ call }) => call.outcome === 'open')
    for (const { call, phase } of ended) note(visits[channelIn(call.url)], call, phase)
  }
  const timer = setInterval(collect, COLLECT_MS)
  return {
    baseUrl: (channel) => `${upstream.url}/c${channel}`,
    enter: (phase) => {
      collect()
      current = phase
    },
    visits: () => {
      collect()
      return visits
    },
    close: () => {
      clearInterval(timer)
      return upstream.close()
    },
  }
}

/** Much more often than the fake upstream discards old calls. */
const COLLECT_MS = 500

const zeros = (): number[] => PHASES.map(() => 0)

const channelIn = (path: string): number => Number(PATH.exec(path)?.[1] ?? -1)

function note(visits: Visits | undefined, call: SeenCall, phase: number): void {
  if (visits === undefined) return
  visits.asked[phase] = (visits.asked[phase] ?? 0) + 1
  if (call.words !== '')
    visits.askedWhileFailing[phase] = (visits.askedWhileFailing[phase] ?? 0) + 1
  const yields = yieldOf(call.words, isStream(call))
  if (yields === 'part' && call.status === 200) visits.parts += 1
  if (yields === 'answer' && call.outcome === 'answered') visits.answered += 1
}

function isStream({ url, body }: SeenCall): boolean {
  if (url.includes(':streamGenerateContent')) return true
  return typeof body === 'object' && body.stream === true
}
