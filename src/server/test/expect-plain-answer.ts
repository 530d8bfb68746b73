import { expect } from 'vitest'
import type { TestAnswer } from './test-app.ts'

/** Sends one call; the headers name the caller's language. */
export type SendCall = (headers: Record<string, string>) => Promise<TestAnswer>

/** A sentence and what it may repeat of the input. */
const SENTENCE_LENGTH_MAX = 500
const QUOTED = /[“"「].*[”"」]/su

/**
 * Expects a plain yes, or a refusal of one sentence in each language: with status 200, or 413 for a
 * body that is too large. Returns whether it was a yes; only a refusal is asked for again in
 * English.
 */
export async function expectPlainAnswer(send: SendCall): Promise<boolean> {
  const answer = await send({ 'accept-language': 'zh' })
  expect([200, 413]).toContain(answer.status)
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  if (answer.json['success'] === true) {
    expect(answer.status).toBe(200)
    return true
  }
  const english = await send({ 'accept-language': 'en' })
  for (const { json, message } of [answer, english]) {
    expect(json).toEqual({ success: false, message: expect.stringMatching(/./) })
    expect(message.length).toBeLessThan(SENTENCE_LENGTH_MAX)
    // Neither the database nor a library speaks to the caller.
    expect(message).not.toMatch(/SQLITE|constraint|violates|syntax error|undefined|\[object/)
  }
  expect(answer.message).toMatch(/\p{Script=Han}/u)
  expect(english.message.replace(QUOTED, '')).not.toMatch(/\p{Script=Han}/u)
  return false
}
