import type { ChatEvent, Finish } from '../canonical/chat-answer.ts'
import { NO_CHANGES, type AnswerChanges } from './answer-changes.ts'

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
