import type { AnswerPart, ChatAnswer, ChatEvent, Finish } from './chat-answer.ts'
import type { TokenUsage } from './token-usage.ts'

const STOPPED: Finish = { reason: 'stop', stopSequence: null }

/**
 * Adds a `finish` for every choice of a whole answer: some servers leave it out, and clients wait
 * for it. An answer without a choice gets an empty one.
 */
export function withEveryFinish(events: readonly ChatEvent[]): readonly ChatEvent[] {
  const choices = new Set<number>()
  const finished = new Set<number>()
  for (const event of events) {
    if (!('choice' in event)) continue
    choices.add(event.choice)
    if (event.kind === 'finish') finished.add(event.choice)
  }
  if (choices.size === 0) choices.add(0)
  const missing = [...choices].filter((choice) => !finished.has(choice))
  if (missing.length === 0) return events
  return [
    ...events,
    ...missing.map((choice): ChatEvent => ({ kind: 'finish', choice, finish: STOPPED })),
  ]
}

interface GatheredChoice {
  parts: AnswerPart[]
  /** Tool calls among the parts, by number. */
  calls: Map<number, AnswerPart & { kind: 'toolCall' }>
  finish: Finish
}

/** Joins the events of an answer. */
export function answerOf(events: readonly ChatEvent[], usage: TokenUsage | null): ChatAnswer {
  let id = ''
  const choices = new Map<number, GatheredChoice>()
  for (const event of events) {
    if (event.kind === 'start') id ||= event.id
    else if ('choice' in event) addEvent(choiceAt(choices, event.choice), event)
  }
  return {
    id,
    choices: [...choices]
      .toSorted(([one], [other]) => one - other)
      .map(([, { parts, finish }]) => ({ parts: parts.map(withArguments), finish })),
    usage,
  }
}

function choiceAt(choices: Map<number, GatheredChoice>, index: number): GatheredChoice {
  let choice = choices.get(index)
  if (choice === undefined) {
    choice = { parts: [], calls: new Map(), finish: STOPPED }
    choices.set(index, choice)
  }
  return choice
}

const withArguments = (part: AnswerPart): AnswerPart =>
  part.kind === 'toolCall' && part.argumentsJson === '' ? { ...part, argumentsJson: '{}' } : part

function addEvent(choice: GatheredChoice, event: Extract<ChatEvent, { choice: number }>): void {
  const { parts, calls } = choice
  const last = parts.at(-1)
  switch (event.kind) {
    case 'text':
    case 'refusal':
      if (last?.kind === event.kind) last.text += event.text
      else parts.push({ kind: event.kind, text: event.text })
      break
    case 'thinking':
      if (last?.kind === 'thinking' && !isSealed(last)) last.text += event.text
      else parts.push({ kind: 'thinking', text: event.text, signature: null, redacted: null })
      break
    case 'signature': {
      const { signature } = event
      const thought = parts.findLast((part) => part.kind === 'thinking')
      if (thought !== undefined && !isSealed(thought)) thought.signature = signature
      else parts.push({ kind: 'thinking', text: '', signature, redacted: null })
      break
    }
    case 'redacted':
      parts.push({ kind: 'thinking', text: '', signature: null, redacted: event.redacted })
      break
    case 'toolCall': {
      const { id, name, signature } = event
      const call = { kind: 'toolCall' as const, id, name, argumentsJson: '', signature }
      calls.set(event.call, call)
      parts.push(call)
      break
    }
    case 'toolArguments': {
      const call = calls.get(event.call)
      if (call !== undefined) call.argumentsJson += event.text
      break
    }
    case 'image':
      parts.push({ kind: 'image', mimeType: event.mimeType, data: event.data })
      break
    case 'search':
      parts.push({ kind: 'search', search: event.search })
      break
    case 'citation':
      parts.push({ kind: 'citation', citation: event.citation })
      break
    case 'finish':
      choice.finish = event.finish
      break
    case 'hostedTool':
      break
    default:
      event satisfies never
  }
}

const isSealed = ({ signature, redacted }: AnswerPart & { kind: 'thinking' }): boolean =>
  signature !== null || redacted !== null
