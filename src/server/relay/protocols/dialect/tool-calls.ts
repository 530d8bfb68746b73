import type { ChatEvent, Finish } from '../canonical/chat-answer.ts'
import { callIdsIn, madeId } from '../canonical/call-id.ts'
import type { ChatRequest, Tool } from '../canonical/chat-request.ts'
import { chained, changesOf, NO_CHANGES, type AnswerChanges } from './answer-changes.ts'
import type { UpstreamDialect } from './dialect.ts'

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
 * Some upstreams stop for a call that they have not made, others make a call and report an ordinary
 * end. Agents wait for a call that never comes, or leave the call alone.
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
