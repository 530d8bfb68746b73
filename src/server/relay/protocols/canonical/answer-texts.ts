import type { ChatEvent } from './chat-answer.ts'

/**
 * Text that counts as completion. Texts of one lane continue each other; lanes run side by side.
 */
export interface AnswerText {
  lane: number
  text: string
  /** The text begins a call of this tool. */
  tool?: string
}

const LANES_PER_CHOICE = 3
const Lane = { text: 0, thinking: 1, calls: 2 } as const

/** Texts of events, for counting without an upstream's usage and for capturing. */
export function textsOf(events: readonly ChatEvent[]): AnswerText[] {
  const texts: AnswerText[] = []
  for (const event of events) {
    switch (event.kind) {
      case 'text':
      case 'refusal':
        texts.push({ lane: event.choice * LANES_PER_CHOICE + Lane.text, text: event.text })
        break
      case 'thinking':
        texts.push({ lane: event.choice * LANES_PER_CHOICE + Lane.thinking, text: event.text })
        break
      case 'toolCall': {
        const { choice, name } = event
        texts.push({ lane: choice * LANES_PER_CHOICE + Lane.calls, text: name, tool: name })
        break
      }
      case 'toolArguments':
      case 'hostedTool':
        texts.push({ lane: event.choice * LANES_PER_CHOICE + Lane.calls, text: event.text })
        break
      default:
    }
  }
  return texts
}
