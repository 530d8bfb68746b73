import { capabilitiesOf, type AskedModel } from '../../../model/model-table.ts'
import type { Task } from '../../protocols/dialect/provider.ts'
import type { Call, RelayParts } from '../call.ts'
import {
  ERROR_BODY_BYTES_MAX,
  type AnswerRoom,
  type BodyFault,
} from '../../transport/decoded-body.ts'

/** Memory limits for upstream responses that are read whole. */

const MEBIBYTE = 1024 * 1024
/** Limit of a chat response of text: more than four million tokens. */
const CHAT_ANSWER_BYTES_MAX = 16 * MEBIBYTE
/** Limit of the same response as server-sent events, each with its framing. */
const EVENTS_BYTES_MAX = 64 * MEBIBYTE
/** Limit of a response with embeddings of a large batch, images or audio. */
export const LARGE_ANSWER_BYTES_MAX = 128 * MEBIBYTE

/** Share of the budget that responses of one channel may hold once half of the budget is used. */
const CHANNEL_SHARE = 0.25

/** The parts of a call that determine the size limit of its response. */
interface AskedAnswer extends AskedModel {
  task: Task
  /** The client's request. */
  body: Buffer
}

const LARGE_TASKS: ReadonlySet<Task> = new Set<Task>([
  'embeddings',
  'embedContent',
  'batchEmbedContents',
  'images',
  'imageEdits',
  'speech',
  'transcriptions',
  'translations',
])

/**
 * Whether a model returns images or audio in a chat without a request member that asks for them.
 */
const answersWithMedia = (asked: AskedModel): boolean =>
  capabilitiesOf(asked).modalities?.output?.some((kind) => kind !== 'text') === true

/** Members of a chat request that ask for images, audio or log probabilities. */
const LARGE_MEMBERS = [
  '"modalities"',
  '"responseModalities"',
  '"response_modalities"',
  '"image_generation"',
  '"logprobs"',
  '"responseLogprobs"',
].map((member) => Buffer.from(member))

/** Returns the largest size of a response in bytes, compressed and decompressed. */
export function answerBytesMax(asked: AskedAnswer, isEvents = false): number {
  const { task, body } = asked
  const isLarge =
    LARGE_TASKS.has(task) ||
    answersWithMedia(asked) ||
    LARGE_MEMBERS.some((member) => body.includes(member))
  if (isLarge) return LARGE_ANSWER_BYTES_MAX
  return isEvents ? EVENTS_BYTES_MAX : CHAT_ANSWER_BYTES_MAX
}

/**
 * Opens the memory lease for the response of one attempt and releases the lease of an earlier
 * attempt. The lease is released when the call's response has ended.
 */
export function openAnswerRoom(
  { answerBytes }: Pick<RelayParts, 'answerBytes'>,
  call: Pick<Call, 'answerLease'>,
  { channelId, bytesMax }: { channelId: number; bytesMax: () => number },
): AnswerRoom {
  call.answerLease?.release()
  const lease = answerBytes.lease([{ name: `channel ${channelId}`, share: CHANNEL_SHARE }])
  call.answerLease = lease
  return { lease, bytesMax }
}

/** The body of an upstream response that is read whole, within its limits. */
export class CollectedBody {
  /** Counts the bytes; null for an error, of which only the beginning is read. */
  readonly room: AnswerRoom | null
  private readonly chunks: Buffer[] = []
  private length = 0

  constructor(room: AnswerRoom | null) {
    this.room = room
  }

  /** Adds a chunk. Returns why the body is too large, in which case the chunk is dropped. */
  add(chunk: Buffer): BodyFault | null {
    this.length += chunk.length
    const fault = this.faultAt(this.length)
    if (fault === null) this.chunks.push(chunk)
    return fault
  }

  private faultAt(length: number): BodyFault | null {
    if (this.room !== null) return answerFault(this.room, length)
    return length > ERROR_BODY_BYTES_MAX ? 'unreadable' : null
  }

  get bytes(): Buffer {
    const [first] = this.chunks
    return this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks)
  }
}

/** Checks a response that has grown to `length` bytes. Returns null if it is within its limits. */
export function answerFault(
  { lease, bytesMax }: AnswerRoom,
  length: number,
): Exclude<BodyFault, 'unreadable'> | null {
  if (length > CHAT_ANSWER_BYTES_MAX && length > bytesMax()) return 'oversized'
  return lease.resize(length) === null ? null : 'no-room'
}
