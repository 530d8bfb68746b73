/**
 * Proof of identity. The server asks for one before some requests; the dialog then opens once for
 * all requests that wait, and each is sent again afterwards.
 */

interface Question {
  /** Reports whether the user has proved who they are. */
  answer: (isProven: boolean) => void
}

const listeners = new Set<() => void>()
let question: (Question & { answered: Promise<boolean> }) | null = null

function changed() {
  for (const listener of listeners) listener()
}

/** Opens the dialog. Resolves to false if it is closed without a proof. */
export function askForProof(): Promise<boolean> {
  if (question !== null) return question.answered
  let resolve: (isProven: boolean) => void = () => {}
  const answered = new Promise<boolean>((settle) => {
    resolve = settle
  })
  question = {
    answered,
    answer: (isProven) => {
      question = null
      changed()
      resolve(isProven)
    },
  }
  changed()
  return answered
}

export const openQuestion = (): Question | null => question

export function subscribeToQuestion(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
