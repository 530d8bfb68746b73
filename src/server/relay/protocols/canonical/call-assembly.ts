import type { ChatEvent } from './chat-answer.ts'
import type { Signature } from './chat-request.ts'
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

  /** Reports the calls of a choice that have a name, because another part of the answer follows. */
  open(choice: number): readonly ChatEvent[] {
    if (!this.calls.has(choice)) return NOTHING
    return this.of(choice).flatMap((call) =>
      call.name === '' || call.call !== null ? [] : this.report(call),
    )
  }

  /** Ends a call. */
  end(call: AssembledCall): ChatEvent[] {
    if (call.isEnded || call.name === '') return []
    call.isEnded = true
    const events = this.report(call)
    return call.isObject === true
      ? events
      : [...events, ...argumentsEvent(call, objectText(call.held))]
  }

  /** Ends all calls. */
  endAll(): ChatEvent[] {
    return [...this.calls.values()].flat().flatMap((call) => this.end(call))
  }

  /** All calls of a choice, including those that are held back. */
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
