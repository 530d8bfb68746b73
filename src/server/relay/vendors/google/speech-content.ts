import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { USAGE_TOKENS_MAX } from '../../protocols/canonical/token-usage.ts'
import { SOUND } from '../../audio/recording-members.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { present, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { recordIn, withBody } from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { membersOf, rewritten } from '../shared/rewritten-body.ts'
import { inlinePartsOf, refusalIn, usageOfAll } from './content-answer.ts'

/**
 * Text-to-speech by Gemini in OpenAI's format. Gemini returns raw samples, which the client gets
 * unchanged or as a WAV file; other formats are rejected. Source: Gemini API, "Speech generation".
 */

/** Audio format: the walk reads it and does not send it. */
const FORMAT = 'response_format'
/** Members without an effect on the audio. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['model', 'stream_format'])

export function spokenEdits(body: ScannedBody): MemberEdit[] {
  const asked = membersOf(body)
  const { input, instructions, voice, speechConfig, safetySettings, ...others } = asked
  const { [FORMAT]: format, speed, ...rest } = others
  if (speed !== undefined && speed !== null && speed !== 1) throw unsupportedField('speed')
  if (!FORMATS.has(format ?? 'wav')) throw unsupportedField(FORMAT)
  for (const [name, value] of Object.entries(rest)) {
    if (!LEFT_BEHIND.has(name) && value !== null) throw unsupportedField(name)
  }
  // The instructions precede the text to read.
  const how = textOr(instructions)
  const text = how === '' ? input : `${how}\n\n${textOr(input)}`
  const config = { ...voiceConfig(voice), ...recordOr(speechConfig) }
  return rewritten(asked, {
    contents: [{ role: 'user', parts: [{ text }] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      ...(Object.keys(config).length === 0 ? {} : { speechConfig: config }),
    },
    ...present({ safetySettings, [FORMAT]: format }),
  })
}

const FORMATS: ReadonlySet<unknown> = new Set(['wav', 'pcm'])

function voiceConfig(voice: unknown): JsonRecord {
  const voiceName = textOr(voice) || textOr(recordOr(voice).id)
  return voiceName === '' ? {} : { voiceConfig: { prebuiltVoiceConfig: { voiceName } } }
}

/** Returns the audio with its usage, which cannot be read from the audio (`audio/spoken.ts`). */
export const spokenWalk: Walk = async (steps, request) => {
  const { [FORMAT]: format, ...sent } = recordIn(request)
  const answer = await steps.fetch(withBody(request, sent))
  if (answer.status !== 200) return answer
  const told = recordIn(answer)
  const parts = inlinePartsOf(told).filter(({ mimeType }) => MEDIA_TYPE.test(textOr(mimeType)))
  const [first] = parts
  if (first === undefined) return refusalIn(told, 'invalid_request_error')
  const sound = Buffer.concat(parts.map(({ data }) => Buffer.from(textOr(data), 'base64')))
  const made = textOr(first.mimeType)
  const [mediaType = ''] = MEDIA_TYPE.exec(made) ?? []
  const isBare = /^audio\/(?:l16|pcm)\b/i.test(made)
  const isFile = isBare && format !== 'pcm'
  const audio = (isFile ? wavFile(sound, rateIn(made)) : sound).toString('base64')
  const usage = usageOfAll([told], USAGE_TOKENS_MAX)
  const used = usage === null ? {} : { usage: usageWords(usage) }
  const type = isBare ? `audio/${isFile ? 'wav' : 'pcm'}` : mediaType
  return {
    status: answer.status,
    headers: { 'content-type': type },
    body: Buffer.from(JSON.stringify({ [SOUND]: audio, ...used })),
  }
}

/** Media type at the start of a `content-type`, without its parameters. */
const MEDIA_TYPE = /^audio\/[\w.+-]+/i

const usageWords = (usage: { promptTokens: number; completionTokens: number }): JsonRecord => ({
  input_tokens: usage.promptTokens,
  output_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
})

const USUAL_RATE = 24_000

/** Sample rate in a media type such as `audio/L16;codec=pcm;rate=24000`. */
const rateIn = (mimeType: string): number =>
  Number(/rate=(\d{4,6})/.exec(mimeType)?.[1] ?? USUAL_RATE)

const HEAD_BYTES = 44
const BYTES_A_SAMPLE = 2

/** Wraps mono samples of 16 bits in a RIFF header. */
function wavFile(samples: Buffer, rate: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(HEAD_BYTES - 8 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  // Length of the format chunk, PCM encoding, one channel.
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * BYTES_A_SAMPLE, 28)
  head.writeUInt16LE(BYTES_A_SAMPLE, 32)
  head.writeUInt16LE(BYTES_A_SAMPLE * 8, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}
