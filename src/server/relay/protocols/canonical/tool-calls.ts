import { createHash } from 'node:crypto'
import type { ChatEvent } from './chat-answer.ts'
import type { Signature, AssistantPart, Message, UserPart } from './chat-request.ts'
import { objectText } from './arguments-text.ts'

/** Part of a tool call in one event of an upstream's stream; '' and null if not set. */
export interface CallPiece {
  id: string
  name: string
  /** Part of the arguments as JSON text. */
  args: string
  signature: Signature | null
}

/** A tool call that is still incomplete. */
export interface AssembledCall extends CallPiece {
  readonly choice: number
  /** Number within the choice, in the order of `begin`. */
  readonly place: number
  /** Number within the choice, as in events; null while the call is held back. */
  call: number | null
  /** Arguments that are held back, because the call is or because they may not be an object. */
  held: string
  /** Whether the arguments begin as an object; null if none have arrived. */
  isObject: boolean | null
  isEnded: boolean
}

/**
 * Assembles the tool calls of a stream. Clients take a call's name from its first event, so a call
 * is held back until its name is complete: until arguments come, another part of the answer begins
 * or the call ends. A call that never gets a name is left out: no client can run it. Upstreams send
 * names late, in parts or after the arguments, repeat them with every piece, and write `null` or
 * blanks for "no arguments": everything that is not an object becomes `{}`.
 */
export class CallAssembly {
  private readonly calls = new Map<number, AssembledCall[]>()
  private readonly opened = new Map<number, number>()
  /** Calls that have a name and are held back, so that `open` reads no others. */
  private readonly named = new Map<number, Set<AssembledCall>>()
  /** Calls by choice and id. */
  private readonly identified = new Map<string, AssembledCall>()

  /** Begins a call. Nothing is reported before `add`. */
  begin(choice: number): AssembledCall {
    const others = this.calls.get(choice)
    const call: AssembledCall = {
      choice,
      place: others?.length ?? 0,
      call: null,
      id: '',
      name: '',
      args: '',
      held: '',
      isObject: null,
      signature: null,
      isEnded: false,
    }
    if (others === undefined) this.calls.set(choice, [call])
    else others.push(call)
    return call
  }

  add(call: AssembledCall, piece: Partial<CallPiece>): ChatEvent[] {
    const { id = '', name = '', args = '', signature = null } = piece
    if (call.call === null) {
      if (call.id === '' && id !== '') this.identify(call, id)
      call.name = joinedName(call.name, name)
      call.signature ??= signature
      if (name !== '') this.hold(call)
    }
    if (args !== '') {
      call.args += args
      call.held += args
      const first = args.trimStart()[0]
      if (first !== undefined) call.isObject ??= first === '{'
    }
    return args === '' || call.name === '' ? [] : this.report(call)
  }

  /** Reports the calls of a choice that have a name, because another part of the answer follows. */
  open(choice: number): readonly ChatEvent[] {
    const named = this.named.get(choice)
    if (named === undefined) return NOTHING
    return [...named].toSorted((a, b) => a.place - b.place).flatMap((call) => this.report(call))
  }

  /** Ends a call and returns its remaining events. */
  end(call: AssembledCall): ChatEvent[] {
    if (call.isEnded || call.name === '') return []
    call.isEnded = true
    const events = this.report(call)
    return call.isObject === true
      ? events
      : [...events, ...argumentsEvent(call, objectText(call.held))]
  }

  /** Ends all calls and returns their remaining events. */
  endAll(): ChatEvent[] {
    return [...this.calls.values()].flat().flatMap((call) => this.end(call))
  }

  /** The call of a choice with this id, also if it is held back. */
  find(choice: number, id: string): AssembledCall | undefined {
    return this.identified.get(`${choice} ${id}`)
  }

  private identify(call: AssembledCall, id: string): void {
    call.id = id
    const key = `${call.choice} ${id}`
    // The first of several with the same id.
    if (!this.identified.has(key)) this.identified.set(key, call)
  }

  private hold(call: AssembledCall): void {
    const named = this.named.get(call.choice)
    if (named === undefined) this.named.set(call.choice, new Set([call]))
    else named.add(call)
  }

  private report(call: AssembledCall): ChatEvent[] {
    const events: ChatEvent[] = []
    const { choice, name, signature } = call
    if (call.call === null) {
      const number = this.opened.get(choice) ?? 0
      this.opened.set(choice, number + 1)
      this.named.get(choice)?.delete(call)
      call.call = number
      events.push({ kind: 'toolCall', choice, call: number, id: call.id, name, signature })
    }
    // Arguments that begin otherwise may not be an object, which is known only at their end.
    if (call.isObject !== true) return events
    const text = call.held
    call.held = ''
    return [...events, ...argumentsEvent(call, text)]
  }
}

const NOTHING: readonly ChatEvent[] = []

const argumentsEvent = ({ choice, call }: AssembledCall, text: string): ChatEvent[] =>
  text === '' || call === null ? [] : [{ kind: 'toolArguments', choice, call, text }]

/** Joins a name that is sent once, in parts, or repeatedly (whole, or growing from its start). */
function joinedName(before: string, piece: string): string {
  if (piece === '') return before
  return piece.startsWith(before) ? piece : before + piece
}

/**
 * Makes an id for a call without one, since clients need it to assign results. `seed`: must be
 * unique to the call.
 */
export const madeId = (seed: string): string =>
  `call_${createHash('sha256').update(seed).digest('hex').slice(0, 24)}`

/** Returns the ids of all calls of a conversation. */
export const callIdsIn = (messages: readonly Message[]): Set<string> =>
  new Set(
    messages.flatMap(({ parts }) => parts.flatMap((p) => (p.kind === 'toolCall' ? p.id : []))),
  )

/**
 * Gives each call of a conversation a unique id, if its client or an earlier upstream reused one:
 * Anthropic rejects that ("`tool_use` ids must be unique"). Results follow their calls in order.
 * The same conversation always gets the same ids, so that its prompt stays cached.
 */
export function withOwnCallIds(messages: readonly Message[]): readonly Message[] {
  const uses = new Map<string, number>()
  /** Calls of the turn before by their original ids, with the number of their results so far. */
  let waiting = new Map<string, { ids: string[]; answered: number }>()
  /** Last call of each original id. */
  const last = new Map<string, string>()
  const called = (part: AssistantPart): AssistantPart => {
    if (part.kind !== 'toolCall') return part
    const before = uses.get(part.id) ?? 0
    uses.set(part.id, before + 1)
    const id = before === 0 ? part.id : madeId(`${part.id} ${before}`)
    const others = waiting.get(part.id)
    if (others === undefined) waiting.set(part.id, { ids: [id], answered: 0 })
    else others.ids.push(id)
    last.set(part.id, id)
    return { ...part, id }
  }
  const answered = (part: UserPart): UserPart => {
    if (part.kind !== 'toolResult') return part
    const { callId } = part
    const calls = waiting.get(callId)
    const next = calls?.ids[calls.answered]
    if (calls !== undefined) calls.answered += 1
    return { ...part, callId: next ?? last.get(callId) ?? callId }
  }
  const renamed = messages.map((message, index): Message => {
    if (message.role === 'user') return { role: 'user', parts: message.parts.map(answered) }
    if (messages[index - 1]?.role === 'user') waiting = new Map()
    return { role: 'assistant', parts: message.parts.map(called) }
  })
  return [...uses.values()].some((count) => count > 1) ? renamed : messages
}

/** Names that both OpenAI and Anthropic accept. Source: their API references, `tools`. */
const PLAIN = /^[a-zA-Z0-9_-]{1,64}$/
const NAME_LETTERS = 55

/**
 * Converts a tool name or a call id to what the strictest providers accept. A name always changes
 * in the same way, and a hash keeps it distinct from all others.
 */
export function plainName(name: string): string {
  if (PLAIN.test(name)) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, NAME_LETTERS)}_${hash}`
}
