/**
 * Faults of the channels over time. The instructions are those of the fake upstream. A phase names
 * types (all their channels) or single channels, which take precedence. Channels that are not named
 * are healthy.
 */

export type ChannelKind = {
  label: string
  type: number
  key: string
  /** Number of channels of the kind: `OpenAI 1`, `OpenAI 2`, … */
  count: number
}

const CHANNEL_KINDS: readonly ChannelKind[] = [
  { label: 'OpenAI', type: 1, key: 'sk-upstream', count: 4 },
  { label: 'Azure', type: 3, key: 'sk-upstream', count: 3 },
  { label: 'Anthropic', type: 14, key: 'sk-upstream', count: 4 },
  { label: 'Gemini', type: 24, key: 'sk-upstream', count: 3 },
  { label: 'Ollama', type: 30, key: 'sk-upstream', count: 3 },
  { label: 'Zhipu', type: 16, key: 'id.secretsecret', count: 3 },
]

export type Phase = {
  name: string
  /** Duration as a share of the sum of all phases. */
  share: number
  /** Instructions by channel or type; `others`: for all that are not named. */
  words: Readonly<Record<string, string>>
}

/** Accounts that are closed in the second phase and stay closed. */
const CLOSED = { 'Zhipu 1': 'fail-key', 'Azure 1': 'fail-quota' }

/** The first phase is the baseline for the others. */
export const PHASES: readonly Phase[] = [
  { name: 'all healthy', share: 4, words: {} },
  { name: 'accounts closed', share: 2, words: CLOSED },
  {
    name: 'errors',
    share: 3,
    words: { ...CLOSED, OpenAI: 'fail-500', Zhipu: 'fail-html', 'Ollama 1': 'error-200' },
  },
  {
    name: 'silence',
    share: 3,
    words: { ...CLOSED, Azure: 'hang', 'Anthropic 1': 'stall', 'Anthropic 2': 'stall' },
  },
  {
    name: 'throttled',
    share: 3,
    words: {
      ...CLOSED,
      OpenAI: 'fail-429-retry-2',
      Gemini: 'fail-503-retry-1',
      Anthropic: 'fail-529',
    },
  },
  {
    name: 'cut',
    share: 3,
    words: {
      ...CLOSED,
      Zhipu: 'fail-cut',
      'Ollama 1': 'cut-after-4',
      'OpenAI 1': 'error-mid-stream',
      'Gemini 1': 'hang-mid-stream',
      'Azure 2': 'fail-empty',
    },
  },
  { name: 'recovery', share: 3, words: CLOSED },
  {
    name: 'one left',
    share: 3,
    words: {
      ...CLOSED,
      'OpenAI 2': '',
      Anthropic: 'hang',
      Gemini: 'fail-429-retry-2',
      others: 'fail-500',
    },
  },
  { name: 'none left', share: 1, words: { ...CLOSED, others: 'fail-503' } },
  { name: 'back', share: 5, words: CLOSED },
]

/** Instructions that reject the key or account: exactly such channels must be disabled. */
const REFUSED_ACCOUNT: ReadonlySet<string> = new Set(['fail-key', 'fail-quota'])

export type ChannelName = { name: string; label: string }

export const CHANNELS: readonly (ChannelName & ChannelKind)[] = CHANNEL_KINDS.flatMap((kind) =>
  Array.from({ length: kind.count }, (_, index) => ({
    ...kind,
    name: `${kind.label} ${index + 1}`,
  })),
)

/** Instructions for a channel in a phase; empty if it is healthy. */
export const wordsOf = ({ words }: Phase, { name, label }: ChannelName): string =>
  words[name] ?? words[label] ?? words.others ?? ''

/** Number of healthy channels in a phase: while there is one, every call can be served. */
export const healthyIn = (phase: Phase): number =>
  CHANNELS.filter((channel) => wordsOf(phase, channel) === '').length

export const isToBeDisabled = (channel: ChannelName): boolean =>
  PHASES.some((phase) => REFUSED_ACCOUNT.has(wordsOf(phase, channel)))

/**
 * What a call with these instructions yields: a response, part of a stream, or nothing to charge.
 */
export function yieldOf(words: string, isStream: boolean): 'answer' | 'part' | 'nothing' {
  if (words === '') return 'answer'
  if (!BREAKS_STREAMS.test(words)) return 'nothing'
  if (isStream) return 'part'
  // An error in the middle requires a stream.
  return words === 'error-mid-stream' ? 'answer' : 'nothing'
}

const BREAKS_STREAMS = /^(?:cut-after-\d+|error-mid-stream|hang-mid-stream)$/

/** Start of each phase in milliseconds, for a run of this length. */
export function startsMs(seconds: number): number[] {
  const shares = PHASES.reduce((sum, { share }) => sum + share, 0)
  let passed = 0
  return PHASES.map(({ share }) => {
    const start = (passed / shares) * seconds * 1000
    passed += share
    return start
  })
}
