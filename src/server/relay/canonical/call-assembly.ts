import type { ChatEvent } from './chat-answer.ts'
import type { Signature } from './chat-request.ts'
import { objectText } from './arguments-text.ts'

/** What one event of an upstream's stream says of a tool call; '' and null: nothing. */
export interface CallPiece {
  id: string
  name: string
  /** Of the arguments as JSON text. */
  args: string
  signature: Signature | null
}

/** A tool call whose pieces are still coming. */
export interface AssembledCall extends CallPiece {
  readonly choice: number
  /** Its number within the choice, as events have it; null while it is held back. */
  call: number | null
  /** Arguments that are held back, because the call is or because they may be no object. */
  held: string
  /** Whether the arguments begin as an object; null: none have come. */
  isObject: boolean | null
  isEnded: boolean
}

/**
 * Puts the tool calls of a stream together. Clients take a call's name from its first event, so a
 * call is held back until its name is complete: until arguments come, another part of the answer
 * begins or the call ends. A call that never gets a name is left out: no client can run it.
 * Upstreams send names late, in parts or behind the arguments, repeat them with every piece, and
 * write `null` or blanks for "no arguments": whatever is no object becomes `{}`.
 */
export class CallAssembly {
  private readonly calls = new Map<number, AssembledCall[]>()
  private readonly opened = new Map<number, number>()

  /** Begins a call. Nothing is reported before `add`. */
  begin(choice: number): AssembledCall {
    const call: AssembledCall = {
      choice,
      call: null,
      id: '',
      name: '',
      args: '',
      held: '',
      isObject: null,
      signature: null,
      isEnded: false,
    }
    const others = this.calls.get(choice)
    if (others === undefined) this.calls.set(choice, [call])
    else others.push(call)
    return call
  }

  add(call: AssembledCall, piece: Partial<CallPiece>): ChatEvent[] {
    const { id = '', name = '', args = '', signature = null } = piece
    if (call.call === null) {
      call.id ||= id
      call.name = joinedName(call.name, name)
      call.signature ??= signature
    }
    if (args !== '') {
      call.args += args
      call.held += args
      const first = args.trimStart()[0]
      if (first !== undefined) call.isObject ??= first === '{'
    }
    return args === '' || call.name === '' ? [] : this.report(call)
  }

  /** Reports the calls of a choice that have a name: something else follows them. */
  open(choice: number): readonly ChatEvent[] {
    if (!this.calls.has(choice)) return NOTHING
    return this.of(choice).flatMap((call) =>
      call.name === '' || call.call !== null ? [] : this.report(call),
    )
  }

  /** Nothing more comes of this call. */
  end(call: AssembledCall): ChatEvent[] {
    if (call.isEnded || call.name === '') return []
    call.isEnded = true
    const events = this.report(call)
    return call.isObject === true
      ? events
      : [...events, ...argumentsEvent(call, objectText(call.held))]
  }

  /** Nothing more comes of any call. */
  endAll(): ChatEvent[] {
    return [...this.calls.values()].flat().flatMap((call) => this.end(call))
  }

  /** All calls of a choice, also those that are held back. */
  of(choice: number): readonly AssembledCall[] {
    return this.calls.get(choice) ?? []
  }

  private report(call: AssembledCall): ChatEvent[] {
    const events: ChatEvent[] = []
    const { choice, name, signature } = call
    if (call.call === null) {
      const number = this.opened.get(choice) ?? 0
      this.opened.set(choice, number + 1)
      call.call = number
      events.push({ kind: 'toolCall', choice, call: number, id: call.id, name, signature })
    }
    // Arguments that begin otherwise may be no object, which only their end tells.
    if (call.isObject !== true) return events
    const text = call.held
    call.held = ''
    return [...events, ...argumentsEvent(call, text)]
  }
}

const NOTHING: readonly ChatEvent[] = []

const argumentsEvent = ({ choice, call }: AssembledCall, text: string): ChatEvent[] =>
  text === '' || call === null ? [] : [{ kind: 'toolArguments', choice, call, text }]

/** A name comes once, in parts, or again and again, from its beginning or whole. */
function joinedName(before: string, piece: string): string {
  if (piece === '') return before
  return piece.startsWith(before) ? piece : before + piece
}
