import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { callHttp, HttpCallFailed, jsonMembers } from '../egress/http-call.ts'
import { findFirstRoot } from '../user/user-store.ts'
import type { Letter } from './mail.ts'
import { mail } from './mailer.ts'

const PUSH_TIMEOUT_MS = 10_000
const PUSH_ANSWER_BYTES_MAX = 64 * 1024

/**
 * Notifies the operator: through the message pusher if configured, else by mail to root. Throws
 * `push_failed`, `root_without_email`, `mail_unset`, `mail_failed`.
 */
export async function notifyRoot(app: App, letter: Letter): Promise<void> {
  if (app.options.text('MessagePusherAddress') !== '') {
    await push(app, letter)
    return
  }
  const root = await findFirstRoot(app.database.read)
  if (!root?.email) throw new AppError('root_without_email')
  await mail(app, root.email, letter)
}

/** Sends to a message pusher with One API's protocol. */
async function push(
  { options, egress, trace }: App,
  { subject, text, html }: Letter,
): Promise<void> {
  const body = {
    title: subject,
    description: text,
    content: html,
    url: options.text('ServerAddress'),
    channel: '',
    token: options.text('MessagePusherToken'),
  }
  const answer = await callHttp(egress, {
    url: options.text('MessagePusherAddress'),
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    timeoutMs: PUSH_TIMEOUT_MS,
    bytesMax: PUSH_ANSWER_BYTES_MAX,
  }).catch((error: unknown) => {
    if (!(error instanceof HttpCallFailed)) throw error
    trace.warn({ reason: error.reason }, 'the message pusher cannot be reached')
    return null
  })
  // The reply is not logged, because it may repeat the request including the credential.
  if (answer === null || jsonMembers(answer.text)?.['success'] !== true) {
    if (answer !== null)
      trace.warn({ status: answer.status }, 'the message pusher rejected a message')
    throw new AppError('push_failed')
  }
}
