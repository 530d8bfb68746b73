import type { StreamGatherer } from '../dialect/dialect.ts'
import type { ChatEvent } from '../canonical/chat-answer.ts'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import { arrayOr, present, recordOr, wordOf, type JsonRecord } from '../../json/json-value.ts'
import { GatheredChoice } from './gathered-choice.ts'
import { indexOr, OpenaiStreamReader } from './read-answer.ts'
import { readUsage, usageOfChunk } from './usage.ts'

/** Joins the chunks of a chat or a legacy completion into one response. */
export class GatheredCompletion implements StreamGatherer {
  private head: JsonRecord = {}
  private usage: unknown = undefined
  private readonly reader = new OpenaiStreamReader()
  private readonly choices = new Map<number, GatheredChoice>()

  add(chunk: JsonRecord): void {
    const { choices, usage: _usage, ...head } = chunk
    // Chunks before and after the answer may lack members such as `id`.
    const told = Object.entries(present(head)).filter(([, value]) => value !== '')
    Object.assign(this.head, Object.fromEntries(told))
    this.takeUsage(usageOfChunk(chunk))
    const sent = arrayOr(choices).map(recordOr)
    for (const choice of sent) this.choice(indexOr(choice.index, 0)).add(choice)
    const withoutImages = sent.map((choice) => ({
      ...choice,
      delta: { ...recordOr(choice.delta), images: [] },
    }))
    const { events } = this.reader.read({ ...chunk, choices: withoutImages })
    for (const event of events) this.hear(event)
  }

  whole(): JsonRecord {
    for (const event of this.reader.end()) this.hear(event)
    const { id, created } = this.head
    const choices = [...this.choices]
      .toSorted(([one], [other]) => one - other)
      .map(([index, choice]) => ({
        index,
        ...choice.whole(`${wordOf(id)} ${wordOf(created)} ${index}`),
      }))
    const isOlder = this.head.object === 'text_completion'
    const object = isOlder ? 'text_completion' : 'chat.completion'
    return { ...this.head, object, choices, ...present({ usage: this.usage }) }
  }

  /**
   * Keeps the last usage: servers that send usage with every chunk send zeros until they know it.
   */
  private takeUsage(sent: unknown): void {
    const { fault } = readUsage(sent, USAGE_TOKENS_MAX)
    const isBlank = fault === 'absent' || fault === 'empty'
    if (!isBlank || this.usage === undefined) this.usage = sent
  }

  private hear(event: ChatEvent): void {
    if ('choice' in event) this.choice(event.choice).hear(event)
  }

  private choice(index: number): GatheredChoice {
    const choice = this.choices.get(index) ?? new GatheredChoice()
    this.choices.set(index, choice)
    return choice
  }
}
