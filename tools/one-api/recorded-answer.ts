import { loadRecording } from '../replay/recording.ts'

/** The body that a real One API server answered in a step of a recording. Throws if there is none. */
export function recordedBody(recording: string, step: string): unknown {
  const found = loadRecording(recording).steps.find(({ name }) => name === step)
  if (found === undefined) throw new Error(`no step "${step}" in ${recording}.json`)
  return found.answer.body
}
