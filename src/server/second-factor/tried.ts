import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { findUser } from '../user/user-store.ts'

/** Runs a step of a sign-in; a refusal names the account of the attempt, for the audit. */
export async function tried<T>(app: App, userId: number, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw error.about(await findUser(app.database.read, userId))
  }
}
