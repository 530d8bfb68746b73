import { useSyncExternalStore } from 'react'
import { lazyPart } from '../shell/lazy-part.ts'
import { openQuestion, subscribeToQuestion } from './proof.ts'

const ProofDialog = lazyPart(async () => (await import('./proof-dialog.tsx')).ProofDialog)

/** Where the dialog for a proof of identity appears, on any page. */
export function ProofPlace() {
  const question = useSyncExternalStore(subscribeToQuestion, openQuestion)
  return question === null ? null : <ProofDialog onAnswer={question.answer} />
}
