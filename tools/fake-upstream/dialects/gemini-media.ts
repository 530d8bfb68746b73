import { jsonAnswer, type Answer } from '../answer.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'

/** Image generation and text-to-speech of Gemini's models, by `generateContent`. */

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
/** Four samples of audio. */
export const SAMPLES = Buffer.from([0, 0, 1, 0, 2, 0, 3, 0])
const PICTURE_TOKENS = 1290
const SPEECH_TOKENS = 50
const PROMPT_TOKENS = 11
const RATIOS = new Set('1:1 2:3 3:2 3:4 4:3 4:5 5:4 9:16 16:9 21:9'.split(' '))

/** Null if text is requested. `refuse` creates Gemini's errors. */
export function geminiMediaAnswer(call: Call, refuse: (message: string) => Answer): Answer | null {
  const config = objectOf(call.json.generationConfig)
  const wanted = listOf(config.responseModalities)
  const isPicture = wanted.includes('IMAGE')
  if (!isPicture && !wanted.includes('AUDIO')) return null
  if (!call.model.includes(isPicture ? 'image' : 'tts')) {
    return refuse('Model does not support the requested response modalities')
  }
  return isPicture
    ? pictureAnswer(call, objectOf(config.imageConfig), refuse)
    : speechAnswer(call, objectOf(config.speechConfig), refuse)
}

function pictureAnswer(call: Call, config: Json, refuse: (message: string) => Answer): Answer {
  const { aspectRatio: ratio } = config
  if (ratio !== undefined && !RATIOS.has(String(ratio))) return refuse('aspect_ratio')
  if (call.model.includes('filtered')) {
    const finishMessage = 'Unable to show the generated image.'
    return jsonAnswer({
      candidates: [{ content: {}, finishReason: 'IMAGE_SAFETY', finishMessage }],
      ...usageOf(call, { prompt: PROMPT_TOKENS, answer: 0, modality: 'IMAGE' }),
    })
  }
  const picture = { inlineData: { mimeType: 'image/png', data: PIXEL } }
  const draft = { thought: true, inlineData: { mimeType: 'image/png', data: 'ZHJhZnQ=' } }
  return contentAnswer(call, [draft, picture], { answer: PICTURE_TOKENS, modality: 'IMAGE' })
}

function speechAnswer(call: Call, config: Json, refuse: (message: string) => Answer): Answer {
  const { voiceName } = objectOf(objectOf(config.voiceConfig).prebuiltVoiceConfig)
  if (voiceName !== undefined && !/^[A-Z]/.test(textOf(voiceName) ?? '')) {
    return refuse(`Voice name ${String(voiceName)} is not supported.`)
  }
  const mimeType = 'audio/L16;codec=pcm;rate=24000'
  const sound = { inlineData: { mimeType, data: SAMPLES.toString('base64') } }
  return contentAnswer(call, [sound], { answer: SPEECH_TOKENS, modality: 'AUDIO' })
}

function contentAnswer(
  call: Call,
  parts: Json[],
  figures: { answer: number; modality: string },
): Answer {
  return jsonAnswer({
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    ...usageOf(call, { prompt: PROMPT_TOKENS, ...figures }),
  })
}

function usageOf(
  { directives }: Call,
  { prompt, answer, modality }: { prompt: number; answer: number; modality: string },
): Json {
  if (directives.usage === 'never') return {}
  return {
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: answer,
      totalTokenCount: prompt + answer,
      candidatesTokensDetails: [{ modality, tokenCount: answer }],
    },
  }
}
