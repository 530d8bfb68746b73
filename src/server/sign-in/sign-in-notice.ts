import { deviceName } from '../../contract/device-name.ts'
import { consoleAddress } from '../account/console-address.ts'
import type { App } from '../app.ts'
import { signInEmail } from '../mail/email-messages.ts'
import { canMail, mail, mailTime, systemName } from '../mail/mailer.ts'
import type { StoredUser } from '../user/user-store.ts'
import { noteDevice } from './device-store.ts'

/**
 * Mails the owner of an account after a sign-in with a browser and system that the account has not
 * signed in with before. Devices are stored while the option is off, too, so that turning it on
 * does not make all of them new.
 */
export function noticeSignIn(
  app: App,
  { id, username, email }: StoredUser,
  { userAgent, address }: { userAgent: string; address: string },
): void {
  const { database, options, clock, languages } = app
  const nowSeconds = clock.nowSeconds()
  app.background.run('users', 'the device of a sign-in', async () => {
    const device = deviceName(userAgent)
    const isNew = await database.write
      .transaction()
      .execute((trx) => noteDevice(trx, { userId: id, device, nowSeconds }))
    if (!isNew || !options.flag('SignInNoticeEnabled') || !email || !canMail(app)) return
    const message = signInEmail(systemName(app), languages.of(id), {
      username,
      device,
      address,
      time: mailTime(nowSeconds),
      url: consoleAddress(app, '/setting'),
    })
    app.background.run('mail', 'the notice of a sign-in', () => mail(app, email, message))
  })
}
