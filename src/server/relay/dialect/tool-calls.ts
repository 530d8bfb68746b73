import type { AnswerPart, ChatAnswer, ChatEvent } from '../canonical/chat-answer.ts'
import type { ChatRequest, Tool } from '../canonical/chat-request.ts'
import type { UpstreamDialect } from './dialect.ts'

/**
 * The dialect for one call, whose tools are called as its client has asked: by the names that it
 * gave them, and one at a time where it wants that.
 */
export function withToolsAsAsked(
  dialect: UpstreamDialect,
  { tools, parallelTools }: Pick<ChatRequest, 'tools' | 'parallelTools'>,
): UpstreamDialect {
  const named = withOwnNames(dialect, tools)
  return parallelTools === false ? withOneCall(named) : named
}

/** Tools whose names the dialect has to change for its upstream are called by their own. */
function withOwnNames(dialect: UpstreamDialect, tools: readonly Tool[]): UpstreamDialect {
  const { toolName } = dialect
  if (toolName === undefined) return dialect
  const own = new Map(tools.map(({ name }) => [toolName(name), name]))
  const renamed = <T extends AnswerPart | ChatEvent>(said: T): T =>
    said.kind === 'toolCall' ? { ...said, name: own.get(said.name) ?? said.name } : said
  return withParts(dialect, {
    ofAnswer: (parts) => parts.map(renamed),
    ofStream: () => (events) => events.map(renamed),
  })
}

/**
 * Of each answer only its first call. Not every upstream can be told to call one tool at a time;
 * what else it would have called it calls in the turns that follow, if it still wants to.
 */
function withOneCall(dialect: UpstreamDialect): UpstreamDialect {
  return withParts(dialect, {
    ofAnswer: (parts) => {
      const first = parts.find(({ kind }) => kind === 'toolCall')
      return parts.filter((part) => part.kind !== 'toolCall' || part === first)
    },
    ofStream: () => {
      /** The first call's number, by choice. */
      const firsts = new Map<number, number>()
      return (events) =>
        events.filter((event) => {
          if (event.kind !== 'toolCall' && event.kind !== 'toolArguments') return true
          const { choice, call } = event
          if (!firsts.has(choice)) firsts.set(choice, call)
          return firsts.get(choice) === call
        })
    },
  })
}

interface PartChanges {
  ofAnswer(parts: readonly AnswerPart[]): AnswerPart[]
  /** Made anew for each stream. */
  ofStream(): (events: readonly ChatEvent[]) => ChatEvent[]
}

function withParts(dialect: UpstreamDialect, change: PartChanges): UpstreamDialect {
  const changed = (answer: ChatAnswer): ChatAnswer => ({
    ...answer,
    choices: answer.choices.map((choice) => ({ ...choice, parts: change.ofAnswer(choice.parts) })),
  })
  return {
    ...dialect,
    readAnswer: (answer) => changed(dialect.readAnswer(answer)),
    streamReader: () => {
      const reader = dialect.streamReader()
      const changedEvents = change.ofStream()
      return { read: (value) => changedEvents(reader.read(value)) }
    },
  }
}
