import { loadRecording } from '../replay/recording.ts'

/**
 * Body with which a real One API server responded in a step of a recording. Throws if it is
 * missing.
 */
export function recordedBody(recording: string, step: string): unknown {
  const found = loadRecording(recording).steps.find(({ name }) => name === step)
  if (found === undefined) throw new Error(`no step "${step}" in ${recording}.json`)
  return found.answer.body
}
