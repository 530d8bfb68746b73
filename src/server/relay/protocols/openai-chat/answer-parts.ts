import type { ChatEvent } from '../canonical/chat-answer.ts'
import type { Signature, ThinkingPart } from '../canonical/chat-request.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { makerOf } from './thinking/reasoning.ts'

/**
 * OpenRouter's additions to OpenAI's dialect in messages and in deltas. Source: its documentation,
 * "Reasoning tokens" and "Image generation".
 */

/** Thoughts of `reasoning_details`, with the signatures that can be sent back to their makers. */
export const detailedThoughts = (message: JsonRecord): ThinkingPart[] =>
  arrayOr(message.reasoning_details)
    .filter(isRecord)
    .map(readDetail)
    .filter(({ text, signature, redacted }) => text + (redacted ?? '') !== '' || signature !== null)

function readDetail(detail: JsonRecord): ThinkingPart {
  const maker = makerOf(textOr(detail.format) || null)
  const seal = textOr(detail.signature)
  return {
    kind: 'thinking',
    text: textOr(detail.text) || textOr(detail.summary),
    signature: seal === '' || maker === null ? null : unwrapSignature(seal, maker),
    redacted: maker === 'anthropic' ? textOr(detail.data) || null : null,
  }
}

/** Signatures of Gemini's calls, which are in `reasoning_details`, by call id. */
export function callSeals(message: JsonRecord): ReadonlyMap<string, Signature> {
  const seals = new Map<string, Signature>()
  for (const detail of arrayOr(message.reasoning_details).filter(isRecord)) {
    const [id, data] = [textOr(detail.id), textOr(detail.data)]
    const isSeal = id !== '' && data !== '' && makerOf(textOr(detail.format) || null) === 'gemini'
    if (isSeal) seals.set(id, unwrapSignature(data, 'gemini'))
  }
  return seals
}

/** Images that a model generated; an image with a URL becomes a Markdown link. */
export const imagesIn = (message: JsonRecord, choice: number): ChatEvent[] =>
  arrayOr(message.images).flatMap((sent) => {
    const url = textOr(recordOr(recordOr(sent).image_url).url)
    return url === '' ? [] : [imageAt(url, choice)]
  })

const IMAGE = /^data:(image\/[\w.+-]+);base64,/i

function imageAt(url: string, choice: number): ChatEvent {
  const match = IMAGE.exec(url)
  return match === null
    ? { kind: 'text', choice, text: `![image](${url})` }
    : { kind: 'image', choice, mimeType: match[1] ?? '', data: url.slice(match[0].length) }
}
