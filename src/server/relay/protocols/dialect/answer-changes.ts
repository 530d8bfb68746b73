import type { ChatEvent, Finish } from '../canonical/chat-answer.ts'
import { callIdsIn, madeId } from '../canonical/tool-calls.ts'
import type { ChatRequest, Tool } from '../canonical/chat-request.ts'
import type { UpstreamDialect } from './dialect.ts'

/** Changes the events of one answer for a client of another dialect. Keeps state. */
export interface AnswerChanges {
  events(events: readonly ChatEvent[]): readonly ChatEvent[]
  /** Returns whether the rest of the answer is dropped. */
  isOver(): boolean
}

export const NO_CHANGES: AnswerChanges = { events: (events) => events, isOver: () => false }

/** Applies several changes in order. */
export const chained = (changes: readonly AnswerChanges[]): AnswerChanges => ({
  events: (events) => changes.reduce((changed, change) => change.events(changed), events),
  isOver: () => changes.some((change) => change.isOver()),
})

/** Changes that never end the answer early. */
const changesOf = (
  events: (events: readonly ChatEvent[]) => readonly ChatEvent[],
): AnswerChanges => ({ events, isOver: () => false })

/**
 * For upstreams that do not accept some of the stop texts: cuts the answer here, before the first
 * of them. Reasoning and tool calls are not searched.
 */
export function cutAtStopTexts(stops: readonly string[], choices: number): AnswerChanges {
  if (stops.length === 0) return NO_CHANGES
  const cutters = new Map<number, TextCutter>()
  const cutterOf = (choice: number): TextCutter => {
    const known = cutters.get(choice)
    if (known !== undefined) return known
    const made = new TextCutter(stops)
    cutters.set(choice, made)
    return made
  }
  return {
    events: (events) =>
      events.flatMap((event) =>
        'choice' in event ? cutEvent(event, cutterOf(event.choice)) : [event],
      ),
    isOver: () => [...cutters.values()].filter(({ found }) => found !== null).length >= choices,
  }
}

const cutBy = (stopSequence: string): Finish => ({ reason: 'stop', stopSequence })

function cutEvent(event: ChatEvent & { choice: number }, cutter: TextCutter): ChatEvent[] {
  if (cutter.found !== null) return []
  const { choice } = event
  const said = (text: string): ChatEvent[] => (text === '' ? [] : [{ kind: 'text', choice, text }])
  if (event.kind !== 'text') return [...said(cutter.rest()), event]
  const events = said(cutter.push(event.text))
  const { found } = cutter
  return found === null ? events : [...events, { kind: 'finish', choice, finish: cutBy(found) }]
}

/** Passes a text on in pieces, but holds back a possible beginning of a stop text. */
class TextCutter {
  /** The stop text that was found; null if none was. */
  found: string | null = null

  private readonly stops: readonly string[]
  private held = ''

  constructor(stops: readonly string[]) {
    this.stops = stops
  }

  push(piece: string): string {
    const text = this.held + piece
    this.held = ''
    let at = Infinity
    for (const stop of this.stops) {
      const place = text.indexOf(stop)
      if (place < 0 || place >= at) continue
      at = place
      this.found = stop
    }
    if (this.found !== null) return text.slice(0, at)
    const heldLength = Math.max(...this.stops.map((stop) => beginningAtEnd(text, stop)))
    this.held = text.slice(text.length - heldLength)
    return text.slice(0, text.length - heldLength)
  }

  /** Returns the text that was held back and is not a stop text. */
  rest(): string {
    const { held } = this
    this.held = ''
    return held
  }
}

/** Length of the longest end of `text` that is a beginning of `stop`. */
function beginningAtEnd(text: string, stop: string): number {
  let length = Math.min(text.length, stop.length - 1)
  while (length > 0 && !text.endsWith(stop.slice(0, length))) length -= 1
  return length
}

/**
 * Changes tool calls as the client of one call needs them: with the client's names, one at a time
 * if it asked for that, with ids that are new to the conversation, and with a finish reason that
 * matches the calls. `requestId` is unique among all calls.
 */
export const toolsAsAsked = (
  { toolName }: Pick<UpstreamDialect, 'toolName'>,
  { messages, tools, parallelTools }: Pick<ChatRequest, 'messages' | 'tools' | 'parallelTools'>,
  requestId: string,
): AnswerChanges =>
  chained([
    toolName === undefined ? NO_CHANGES : ownNames(toolName, tools),
    parallelTools === false ? firstCallOnly() : NO_CHANGES,
    newIds(callIdsIn(messages), requestId),
    agreedFinish(),
  ])

/**
 * Some upstreams send calls without an id, or with the same ids in every answer. Programs that
 * identify calls by their ids, such as Claude Code, then mistake a new call for an old one.
 */
function newIds(earlier: ReadonlySet<string>, requestId: string): AnswerChanges {
  const taken = new Set(earlier)
  let searches = 0
  return changesOf((events) =>
    events.map((event) => {
      if (event.kind === 'search' && event.search.id === '') {
        const search = { ...event.search, id: madeId(`${requestId} search ${(searches += 1)}`) }
        return { ...event, search }
      }
      if (event.kind !== 'toolCall') return event
      const isNew = event.id !== '' && !taken.has(event.id)
      const id = isNew ? event.id : madeId(`${requestId} ${taken.size}`)
      taken.add(id)
      return { ...event, id }
    }),
  )
}

/**
 * Makes the finish reason match the tool calls: some upstreams report `tool_calls` without a call,
 * others send calls with an ordinary end. Agents would wait for the missing call, or ignore the
 * call sent.
 */
function agreedFinish(): AnswerChanges {
  const calling = new Set<number>()
  return changesOf((events) =>
    events.map((event) => {
      if (event.kind === 'toolCall') calling.add(event.choice)
      if (event.kind !== 'finish') return event
      return { ...event, finish: agreed(event.finish, calling.has(event.choice)) }
    }),
  )
}

function agreed(finish: Finish, hasCalls: boolean): Finish {
  if (finish.reason === 'toolCalls' && !hasCalls) return { ...finish, reason: 'stop' }
  const isEnd = finish.reason === 'stop' && finish.stopSequence === null
  return isEnd && hasCalls ? { ...finish, reason: 'toolCalls' } : finish
}

/** Restores the client's tool names, which `toolName` changed in the request. */
function ownNames(toolName: (name: string) => string, tools: readonly Tool[]): AnswerChanges {
  const own = new Map(tools.map(({ name }) => [toolName(name), name]))
  const renamed = (event: ChatEvent): ChatEvent =>
    event.kind === 'toolCall' ? { ...event, name: own.get(event.name) ?? event.name } : event
  return changesOf((events) => events.map(renamed))
}

/**
 * Keeps the first call of each choice. Not every upstream can be limited to one call at a time; it
 * can make the other calls in later turns.
 */
function firstCallOnly(): AnswerChanges {
  /** The first call's number, by choice. */
  const firsts = new Map<number, number>()
  return changesOf((events) =>
    events.filter((event) => {
      if (event.kind !== 'toolCall' && event.kind !== 'toolArguments') return true
      const { choice, call } = event
      if (!firsts.has(choice)) firsts.set(choice, call)
      return firsts.get(choice) === call
    }),
  )
}
