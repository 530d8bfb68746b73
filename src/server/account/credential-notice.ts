import type { FastifyRequest } from 'fastify'
import { deviceName } from '../../contract/device-name.ts'
import type { App } from '../app.ts'
import { credentialEmail, type CredentialChange } from '../mail/credential-email.ts'
import { canMail, mail, mailTime, systemName } from '../mail/mailer.ts'
import type { StoredUser } from '../user/user-store.ts'
import { consoleAddress } from './console-address.ts'

/** Source of a change: the owner's request, or an administrator; the mail omits their address. */
export type ChangedBy = { request: FastifyRequest; address: string } | 'administrator'

/**
 * Mails the owner of an account after a change of how it signs in; call it after the commit. `user`
 * is the row before the change, so that a new email address is reported to the old one. The mail is
 * sent in the background, so a failure only goes to the trace. Does nothing without an email
 * address or a mail server, and after five mails of the same kind within an hour.
 */
export function noticeCredential(
  app: App,
  { id, username, email }: Pick<StoredUser, 'id' | 'username' | 'email'>,
  change: CredentialChange,
  by: ChangedBy,
): void {
  if (!email || !canMail(app)) return
  const caller =
    by === 'administrator'
      ? null
      : { device: deviceName(by.request.headers['user-agent'] ?? ''), address: by.address }
  const message = credentialEmail(systemName(app), app.languages.of(id), {
    username,
    change,
    time: mailTime(app.clock.nowSeconds()),
    caller,
    url: consoleAddress(app, '/setting'),
  })
  app.background.run('mail', 'the notice of a changed credential', async () => {
    if (await app.rateLimits.mail.take(`${change}:${id}`)) await mail(app, email, message)
  })
}
