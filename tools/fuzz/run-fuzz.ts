import { request, type Dispatcher } from 'undici'
import { createDice, type Dice } from './dice.ts'
import { callOf, operationsOf, type FuzzCall, type Operation } from './operations.ts'
import type { Names, Schema } from './values.ts'

/** A violation in one response. */
export interface Finding {
  call: FuzzCall
  caller: string
  status: number
  problem: string
}

export interface FuzzSettings {
  url: string
  /** OpenAPI description from which calls are generated and by which responses are validated. */
  document: Schema
  calls: number
  seed: number
  /** Concurrent calls. */
  parallel: number
  names: Names
  dispatcher: Dispatcher
  /** Headers of a caller of this kind; requested again after each 401. */
  caller(kind: CallerKind): Promise<Record<string, string>>
}

const CALLER_KINDS = ['nobody', 'user', 'admin', 'root'] as const
export type CallerKind = (typeof CALLER_KINDS)[number]

export interface FuzzResult {
  calls: number
  /** Responses by status. */
  statuses: Record<number, number>
  /** Operations with `success: true` at least once. */
  succeeded: Set<string>
  findings: Finding[]
}

/** Allowed statuses for any call. */
const STATUSES_ALLOWED: ReadonlySet<number> = new Set([200, 400, 401, 403, 404, 413, 429])
const FINDINGS_MAX = 20

/** Makes random calls and validates every response. Stops early after many findings. */
export async function runFuzz(settings: FuzzSettings): Promise<FuzzResult> {
  const operations = operationsOf(settings.document)
  const result: FuzzResult = { calls: 0, statuses: {}, succeeded: new Set(), findings: [] }
  const callers = new Map<CallerKind, Record<string, string>>()
  let left = settings.calls
  const worker = async (dice: Dice): Promise<void> => {
    while (left > 0 && result.findings.length < FINDINGS_MAX) {
      left -= 1
      const operation = dice.pick(operations)
      const kind = callerFor(dice, operation)
      const headers = callers.get(kind) ?? (await settings.caller(kind))
      callers.set(kind, headers)
      const call = callOf(dice, operation, settings.names)
      const status = await makeCall(settings, result, { operation, call, kind, headers })
      if (status === 401) callers.delete(kind)
    }
  }
  await Promise.all(
    Array.from({ length: settings.parallel }, (_, index) =>
      worker(createDice(settings.seed + index)),
    ),
  )
  return result
}

/** Mostly a caller with access. */
function callerFor(dice: Dice, { access }: Operation): CallerKind {
  if (dice.chance(25)) return dice.pick(CALLER_KINDS)
  const allowed: Record<string, readonly CallerKind[]> = {
    anyone: CALLER_KINDS,
    user: ['user', 'admin', 'root'],
    admin: ['admin', 'root'],
    root: ['root'],
  }
  return dice.pick(allowed[access] ?? CALLER_KINDS)
}

async function makeCall(
  { url, dispatcher }: FuzzSettings,
  result: FuzzResult,
  made: {
    operation: Operation
    call: FuzzCall
    kind: CallerKind
    headers: Record<string, string>
  },
): Promise<number> {
  const { operation, call, kind, headers } = made
  const answer = await answerTo(url + call.path, {
    dispatcher,
    // undici types methods as literals; the description's methods are among them.
    method: call.method as 'GET',
    headers,
    ...(call.body === undefined ? {} : { body: call.body }),
  })
  result.calls += 1
  if (answer instanceof Error) {
    result.findings.push({ call, caller: kind, status: 0, problem: String(answer) })
    return 0
  }
  const { status, text } = answer
  result.statuses[status] = (result.statuses[status] ?? 0) + 1
  const judged = judge(operation, status, text)
  if (judged === 'succeeded') result.succeeded.add(call.operation)
  else if (judged !== 'refused') {
    result.findings.push({ call, caller: kind, status, problem: judged })
  }
  return status
}

/** The response, or the error in its place. */
async function answerTo(
  address: string,
  options: Parameters<typeof request>[1],
): Promise<{ status: number; text: string } | Error> {
  try {
    const answer = await request(address, options)
    return { status: answer.statusCode, text: await answer.body.text() }
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Returns `succeeded`, `refused`, or the violation in the response. */
function judge(operation: Operation, status: number, text: string): string {
  if (!STATUSES_ALLOWED.has(status)) return `status ${status}: ${text.slice(0, 300)}`
  if (status === 429 && text === '') return 'refused'
  // An error in place of a file has a message.
  if (status === 429 && operation.accepts !== null) return 'a limit says more than its status'
  if (operation.accepts === null && status === 200) return 'succeeded'
  const json = parsed(text)
  if (json === undefined) return `no JSON object: ${text.slice(0, 300)}`
  if (status === 404) return 'refused'
  if (json['success'] === true || json['success'] === undefined) {
    if (operation.accepts === null || operation.accepts(json)) return 'succeeded'
    return `outside its schema: ${JSON.stringify(operation.accepts.errors)} ${text.slice(0, 300)}`
  }
  const { message } = json
  return typeof message === 'string' && message !== '' ? 'refused' : 'a refusal without a word'
}

function parsed(text: string): Schema | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
