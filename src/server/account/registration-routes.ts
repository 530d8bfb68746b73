import { accountApi } from '../../contract/account-api.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { addressInUseEmail, codeEmail } from '../mail/email-messages.ts'
import { mail, systemName } from '../mail/mailer.ts'
import { createUser, type UserToCreate } from '../user/create-user.ts'
import { hashingCaller } from '../user/password.ts'
import { fieldRefusal, unreadEmailRefusal, usernameRefusal } from '../user/user.ts'
import { findUsersByEmail } from '../user/user-store.ts'
import { consoleAddress } from './console-address.ts'
import { passHumanCheck } from './human-check.ts'
import { hashMailCode, keepMailCode, newMailCode } from './mail-code.ts'
import { mayMailTo, proveMailbox, refuseTakenAddress } from './mailbox.ts'
import { commonPasswordRefusal } from '../user/common-passwords.ts'

/** Routes for registration. */
export const registrationRoutes = (app: App): Route[] => {
  const { options, database } = app
  return [
    serve(accountApi.register, async (call) => {
      const { body } = call
      await passHumanCheck(app, call, call.query.turnstile)
      if (!options.flag('RegisterEnabled')) throw new AppError('register_closed')
      if (!options.flag('PasswordRegisterEnabled')) throw new AppError('password_register_closed')
      const { username, password, display_name } = body
      if (!username || !password) throw new AppError('invalid_parameter')
      refuse(
        fieldRefusal({ username, password, display_name }) ??
          commonPasswordRefusal(options, password, username) ??
          unreadEmailRefusal(body.email) ??
          usernameRefusal(username),
      )
      const caller = hashingCaller(call)
      const mailbox = await mailboxOf(app, body, caller)
      await createUser(app, {
        username,
        passwordHash: await app.passwords.hash(password, caller),
        display_name: username,
        inviteCode: body.aff_code,
        requestId: call.requestId,
        ...mailbox,
      })
    }),
    serve(accountApi.sendCode, async (call) => {
      await passHumanCheck(app, call, call.query.turnstile)
      const email = call.query.email.trim()
      await mayMailTo(app, 'verify', email)
      const code = newMailCode()
      // A new address and one in use cause the same work and one mail, so that only the mailbox's
      // owner can distinguish them. The code for an address in use is not sent.
      const codeHash = await hashMailCode(app, code, hashingCaller(call))
      await keepMailCode(app, { purpose: 'verify', email, codeHash })
      const isInUse = (await findUsersByEmail(database.read, email)).length > 0
      const message = isInUse
        ? addressInUseEmail(systemName(app), call.language, { url: consoleAddress(app, '/reset') })
        : codeEmail(systemName(app), call.language, { code })
      await mail(app, email, message)
    }),
  ]
}

/**
 * Returns the email address of a new user if verification is enabled, with the step that uses up
 * its code.
 */
async function mailboxOf(
  app: App,
  body: { email?: string | undefined; verification_code?: string | undefined },
  caller: string,
): Promise<Pick<UserToCreate, 'email' | 'also'>> {
  if (!app.options.flag('EmailVerificationEnabled')) return {}
  const email = body.email?.trim() ?? ''
  const right = await proveMailbox(app, { email, code: body.verification_code ?? '', caller })
  return {
    email,
    async also(trx, userId) {
      await right.use(trx)
      await refuseTakenAddress(trx, email, userId)
    },
  }
}
