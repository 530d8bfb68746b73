import { type FormEvent, useState } from 'react'
import { CallFailure } from '../call-client.ts'

/** Runs the work of a small form; the message of a refused call is shown under its field. */
export function useSubmit(work: (fail: (problem: string) => void) => Promise<void>) {
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  async function submit(event?: FormEvent) {
    event?.preventDefault()
    setIsBusy(true)
    try {
      await work(setProblem)
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return { problem, setProblem, isBusy, submit: (event?: FormEvent) => void submit(event) }
}
