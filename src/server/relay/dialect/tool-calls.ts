import type { AnswerChoice, AnswerPart, ChatEvent, Finish } from '../canonical/chat-answer.ts'
import { callIdsIn, madeId } from '../canonical/call-id.ts'
import type { ChatRequest, Tool } from '../canonical/chat-request.ts'
import type { UpstreamDialect } from './dialect.ts'

/**
 * The dialect for one call, whose tools are called as its client can use it: by the names that it
 * gave them, one at a time where it wants that, with ids that are new to the conversation, and with
 * a finish reason that agrees with the calls. `requestId` is unique among all calls.
 */
export function withToolsAsAsked(
  dialect: UpstreamDialect,
  { messages, tools, parallelTools }: Pick<ChatRequest, 'messages' | 'tools' | 'parallelTools'>,
  requestId: string,
): UpstreamDialect {
  const named = withOwnNames(dialect, tools)
  const single = parallelTools === false ? withOneCall(named) : named
  return withAgreedFinish(withNewIds(single, callIdsIn(messages), requestId))
}

/**
 * Some upstreams give their calls no id, or the same in every answer. Programs that tell calls
 * apart by their ids, such as Claude Code, take a call with an old one for the old call.
 */
function withNewIds(
  dialect: UpstreamDialect,
  earlier: ReadonlySet<string>,
  requestId: string,
): UpstreamDialect {
  return withChanges(dialect, () => {
    const taken = new Set(earlier)
    let searches = 0
    const renamed = <T extends AnswerPart | ChatEvent>(said: T): T => {
      if (said.kind === 'search' && said.search.id === '') {
        const search = { ...said.search, id: madeId(`${requestId} search ${(searches += 1)}`) }
        return { ...said, search }
      }
      if (said.kind !== 'toolCall') return said
      const isNew = said.id !== '' && !taken.has(said.id)
      const id = isNew ? said.id : madeId(`${requestId} ${taken.size}`)
      taken.add(id)
      return { ...said, id }
    }
    return {
      choice: ({ parts, finish }) => ({ parts: parts.map(renamed), finish }),
      events: (events) => events.map(renamed),
    }
  })
}

/**
 * Some upstreams stop for a call that they have not made, others make a call and report an ordinary
 * end. Agents wait for a call that never comes, or leave the call alone.
 */
const withAgreedFinish = (dialect: UpstreamDialect): UpstreamDialect =>
  withChanges(dialect, () => {
    const calling = new Set<number>()
    return {
      choice: ({ parts, finish }) => ({ parts, finish: agreed(finish, parts.some(isCall)) }),
      events: (events) =>
        events.map((event) => {
          if (event.kind === 'toolCall') calling.add(event.choice)
          if (event.kind !== 'finish') return event
          return { ...event, finish: agreed(event.finish, calling.has(event.choice)) }
        }),
    }
  })

const isCall = ({ kind }: AnswerPart): boolean => kind === 'toolCall'

function agreed(finish: Finish, hasCalls: boolean): Finish {
  if (finish.reason === 'toolCalls' && !hasCalls) return { ...finish, reason: 'stop' }
  const isEnd = finish.reason === 'stop' && finish.stopSequence === null
  return isEnd && hasCalls ? { ...finish, reason: 'toolCalls' } : finish
}

/** Tools whose names the dialect has to change for its upstream are called by their own. */
function withOwnNames(dialect: UpstreamDialect, tools: readonly Tool[]): UpstreamDialect {
  const { toolName } = dialect
  if (toolName === undefined) return dialect
  const own = new Map(tools.map(({ name }) => [toolName(name), name]))
  const renamed = <T extends AnswerPart | ChatEvent>(said: T): T =>
    said.kind === 'toolCall' ? { ...said, name: own.get(said.name) ?? said.name } : said
  return withChanges(dialect, () => ({
    choice: ({ parts, finish }) => ({ parts: parts.map(renamed), finish }),
    events: (events) => events.map(renamed),
  }))
}

/**
 * Of each answer only its first call. Not every upstream can be told to call one tool at a time;
 * what else it would have called it calls in the turns that follow, if it still wants to.
 */
const withOneCall = (dialect: UpstreamDialect): UpstreamDialect =>
  withChanges(dialect, () => {
    /** The first call's number, by choice. */
    const firsts = new Map<number, number>()
    return {
      choice({ parts, finish }) {
        const first = parts.find(isCall)
        return { parts: parts.filter((part) => !isCall(part) || part === first), finish }
      },
      events: (events) =>
        events.filter((event) => {
          if (event.kind !== 'toolCall' && event.kind !== 'toolArguments') return true
          const { choice, call } = event
          if (!firsts.has(choice)) firsts.set(choice, call)
          return firsts.get(choice) === call
        }),
    }
  })

/** What is changed of one answer, whole or streamed. */
export interface AnswerChanges {
  choice(choice: AnswerChoice): AnswerChoice
  events(events: readonly ChatEvent[]): ChatEvent[]
  /** Whether nothing more of the stream is wanted; absent: all of it is. */
  isOver?(): boolean
}

/** `begin` is called for each answer. */
export const withChanges = (
  dialect: UpstreamDialect,
  begin: () => AnswerChanges,
): UpstreamDialect => ({
  ...dialect,
  readAnswer(sent) {
    const answer = dialect.readAnswer(sent)
    return { ...answer, choices: answer.choices.map(begin().choice) }
  },
  streamReader() {
    const reader = dialect.streamReader()
    const changes = begin()
    const events = changes.events.bind(changes)
    return {
      read: (value) => events(reader.read(value)),
      end: () => events(reader.end?.() ?? []),
      get isOver() {
        return reader.isOver === true || changes.isOver?.() === true
      },
    }
  },
})
