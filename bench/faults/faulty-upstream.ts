/** Twenty upstreams in one, each at a path of its own, that fall ill as the script says. */
import {
  startFakeUpstream,
  type FakeUpstream,
  type SeenCall,
} from '../../tools/fake-upstream/fake-upstream.ts'
import { CHANNELS, PHASES, wordsOf, yieldOf } from './fault-script.ts'

/** What came to one channel. */
export type Visits = {
  /** Calls by phase. */
  asked: number[]
  /** Calls by phase while it was ill. */
  askedIll: number[]
  /** Whole answers that left it, and streams of which it gave a part: what is to be paid for. */
  answered: number
  parts: number
}

export type FaultyUpstream = {
  baseUrl(channel: number): string
  /** From now on this phase of the script. */
  enter(phase: number): void
  /** What came to each channel; calls that are still open are left out. */
  visits(): Visits[]
  close(): Promise<void>
}

const PATH = /^\/c(\d+)\//

export async function startFaultyUpstream(): Promise<FaultyUpstream> {
  let current = 0
  /** Calls that are still open, and the phase they came in. */
  let open: { call: SeenCall; phase: number }[] = []
  const visits = CHANNELS.map((): Visits => {
    return { asked: zeros(), askedIll: zeros(), answered: 0, parts: 0 }
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

/** Far more often than the fake upstream would forget the oldest. */
const COLLECT_MS = 500

const zeros = (): number[] => PHASES.map(() => 0)

const channelIn = (path: string): number => Number(PATH.exec(path)?.[1] ?? -1)

function note(visits: Visits | undefined, call: SeenCall, phase: number): void {
  if (visits === undefined) return
  visits.asked[phase] = (visits.asked[phase] ?? 0) + 1
  if (call.words !== '') visits.askedIll[phase] = (visits.askedIll[phase] ?? 0) + 1
  const yields = yieldOf(call.words, isStream(call))
  if (yields === 'part' && call.status === 200) visits.parts += 1
  if (yields === 'answer' && call.outcome === 'answered') visits.answered += 1
}

function isStream({ url, body }: SeenCall): boolean {
  if (url.includes(':streamGenerateContent')) return true
  return typeof body === 'object' && body.stream === true
}
