import { optionApi } from '../../contract/option-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'

export const optionRoutes = ({ options, config }: App): Route[] => {
  const mayManage = (role: number): void => {
    if (role < config.OPTIONS_MIN_ROLE) throw new AppError('role_too_low')
  }
  return [
    serve(optionApi.list, ({ actor }) => {
      mayManage(actor.role)
      return { data: options.listed(), secrets_set: options.secretsSet() }
    }),
    serve(optionApi.update, async ({ actor, body }) => {
      mayManage(actor.role)
      await options.set(body.key, body.value)
    }),
  ]
}
