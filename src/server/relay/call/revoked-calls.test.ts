import { afterAll, beforeAll, expect, test } from 'vitest'
import { Role } from '../../../contract/user.ts'
import { aUser, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aServedModel,
  bookedCall,
  chatBody,
  eventsOf,
  eventually,
  openCall,
  requestIdOf,
  startRelay,
  textOf,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'

forEachDatabase('calls under way', (open) => {
  let setup: RelaySetup
  let root: TestUser
  beforeAll(async () => {
    setup = await startRelay(open)
    root = await aUser(setup, { role: Role.root })
  })
  afterAll(() => setup.close())

  const update = (client: RelayClient, token: object) =>
    setup.database.write.updateTable('tokens').set(token).where('id', '=', client.tokenId).execute()

  const nameOf = async ({ userId }: RelayClient): Promise<string> => {
    const users = setup.database.read.selectFrom('users').select('username')
    return (await users.where('id', '=', userId).executeTakeFirstOrThrow()).username
  }
  const manage = async (client: RelayClient, action: string) => {
    const body = { username: await nameOf(client), action }
    const answer = await setup.call('POST', '/api/user/manage', { as: root, body })
    expect(answer.json['success']).toBe(true)
  }

  async function aStream(client: RelayClient, words: string) {
    const model = await aServedModel(setup, words)
    const running = await openCall(setup, client, chatBody(model, { stream: true }))
    await eventually(() => textOf(running.text()).split('word').length > 3, 'some text')
    return running
  }

  test.each([
    ['a ban', (client: RelayClient) => manage(client, 'disable')],
    ['the deletion of the user', (client: RelayClient) => manage(client, 'delete')],
    [
      'the deletion of the token',
      async (client: RelayClient) => {
        const { write } = setup.database
        await write.deleteFrom('tokens').where('id', '=', client.tokenId).execute()
        await setup.database.announce(`token:${client.tokenId}`)
      },
    ],
    [
      'the token being disabled',
      async (client: RelayClient) => {
        await update(client, { status: 2 })
        await setup.database.announce(`token:${client.tokenId}`)
      },
    ],
  ])('end with %s, and are paid as far as they came', async (_what, revoke) => {
    const client = await aClient(setup)
    const running = await aStream(client, 'chunks-900+tokens-900+slow-chunk-50+no-usage')
    await revoke(client)
    let end: string | undefined
    void running.ended.then((how) => (end = how))
    await eventually(() => end === 'complete', 'the end of the stream')
    expect(eventsOf(running.text()).at(-1)).toContain('"error"')
    expect(running.text()).not.toContain('[DONE]')
    const { ledger } = await bookedCall(setup, requestIdOf(running))
    expect(ledger.completion_tokens).toBeGreaterThanOrEqual(
      textOf(running.text()).split('word').length - 1,
    )
  })

  test('continue after all other changes, even if the token expires or is used up', async () => {
    const client = await aClient(setup)
    const running = await aStream(client, 'chunks-20+tokens-20+slow-chunk-50')
    await update(client, { expired_time: 1, status: 4 })
    await setup.database.announce(`token:${client.tokenId}`)
    await setup.database.announce(`user:${client.userId}`)
    await setup.database.announce('everything')
    expect(await running.ended).toBe('complete')
    expect(running.text()).toContain('[DONE]')
  })
})
