import { z } from 'zod'
import { del, get } from './endpoint.ts'
import { byId, EpochSeconds } from './wire.ts'

/** Where an account is signed in. Gatehouse only. */

const Session = z
  .object({
    id: z.string().meta({ description: 'Id of the session.', example: '9f86d081884c7d65' }),
    is_own: z.boolean().describe('Whether this is the session of the request.'),
    user_agent: z.string().meta({
      description: '`User-Agent` of the sign-in; empty if unknown.',
      example: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/153.0.0.0 Safari/537.36',
    }),
    address: z.string().meta({
      description: 'IP address of the sign-in; empty if unknown.',
      example: '203.0.113.7',
    }),
    created_at: EpochSeconds.describe('Time of the sign-in, in epoch seconds.'),
    used_at: EpochSeconds.describe('Time of the last use, in epoch seconds, up to a minute late.'),
  })
  .meta({ id: 'Session', description: 'A browser or program in which the account is signed in.' })
export type Session = z.infer<typeof Session>

export const sessionApi = {
  list: get('/api/user/sessions', {
    name: 'listSessions',
    summary: 'Sessions of the caller’s account, last used first.',
    access: 'user',
    data: z.array(Session),
  }),
  endOthers: del('/api/user/sessions', {
    name: 'endOtherSessions',
    summary: 'Ends all sessions of the caller’s account except that of the request.',
    access: 'user',
    needsProof: true,
  }),
  end: del('/api/user/sessions/:session', {
    name: 'endSession',
    summary: 'Ends one session of the caller’s account.',
    access: 'user',
    needsProof: true,
    params: z.object({
      session: z
        .string()
        .max(64)
        .meta({ description: '`id` of the list.', example: '9f86d081884c7d65' }),
    }),
  }),
  endOf: del('/api/user/:id/sessions', {
    name: 'endUserSessions',
    summary: 'Ends all sessions of a user with a role below the caller’s.',
    access: 'admin',
    needsProof: true,
    params: byId('Id of the user.', 12),
  }),
}
