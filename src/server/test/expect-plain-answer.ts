import { expect } from 'vitest'
import type { TestAnswer } from './test-app.ts'

/** Sends one request with headers for the caller's language. */
export type SendCall = (headers: Record<string, string>) => Promise<TestAnswer>

/** Maximum length of an error message, including repeated input. */
const SENTENCE_LENGTH_MAX = 500
const QUOTED = /[“"「].*[”"」]/su

/**
 * Expects a success, or an error with one message in each language, with status 200, or 413 for a
 * body that is too large. Returns whether it succeeded; only an error is requested again in
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
    // Contains no messages of the database or a library.
    expect(message).not.toMatch(/SQLITE|constraint|violates|syntax error|undefined|\[object/)
  }
  expect(answer.message).toMatch(/\p{Script=Han}/u)
  expect(english.message.replace(QUOTED, '')).not.toMatch(/\p{Script=Han}/u)
  return false
}
