import { capabilitiesOf, type AskedModel } from '../../model/model-table.ts'
import type { Task } from '../dialect/provider.ts'
import type { Call, RelayParts } from './call.ts'
import type { AnswerRoom, BodyFault } from '../transport/decoded-body.ts'

/** How much memory upstream responses may take that are read whole. */

const MEBIBYTE = 1024 * 1024
/** A chat response of text: more than four million tokens. */
const CHAT_ANSWER_BYTES_MAX = 16 * MEBIBYTE
/** The same as events, each with its frame. */
const EVENTS_BYTES_MAX = 64 * MEBIBYTE
/** Embeddings of a large batch, images and recordings. */
export const LARGE_ANSWER_BYTES_MAX = 128 * MEBIBYTE

/** Part of the budget that responses of one channel may hold once half of it is used. */
const CHANNEL_SHARE = 0.25

/** What a call asks for, as far as its size depends on it. */
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

/** Whether a model answers a chat with images or speech without being asked by a member. */
const answersWithMedia = (asked: AskedModel): boolean =>
  capabilitiesOf(asked).modalities?.output?.some((kind) => kind !== 'text') === true

/** Members of a chat request that ask for images, speech or log probabilities. */
const LARGE_MEMBERS = [
  '"modalities"',
  '"responseModalities"',
  '"response_modalities"',
  '"image_generation"',
  '"logprobs"',
  '"responseLogprobs"',
].map((member) => Buffer.from(member))

/** The largest size of a response in bytes, packed and unpacked. */
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
 * Opens the room for the response of one attempt of a call, and gives back what an earlier attempt
 * held. The room is given back when the call's response has ended.
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

/** Checks a response that has grown to `length` bytes; null: it may grow on. */
export function answerFault(
  { lease, bytesMax }: AnswerRoom,
  length: number,
): Exclude<BodyFault, 'unreadable'> | null {
  if (length > CHAT_ANSWER_BYTES_MAX && length > bytesMax()) return 'oversized'
  return lease.resize(length) === null ? null : 'no-room'
}
