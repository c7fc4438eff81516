import { makeId } from '@holt/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openPeerAuthority, sealedPlace } from '../../../src/fleet/peers/peer-authority.ts'
import { readJoinToken } from '../../../src/fleet/trust/join-token.ts'
import { newHostRow } from '../../../src/foundation/host/host-row.ts'
import { openMasterKeys } from '../../../src/foundation/sealing/master-keys.ts'
import type { HostRow } from '../../../src/foundation/store/tables.ts'
import { beatsOf, hostRow, pass, startHost, type TestHost } from '../../support/fleet.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

const path = '/v1/agents/join-token'

async function startTwo() {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const one = await startHost(store)
  return { store, one, front: await startHost(store, { role: 'front' }) }
}

/** Makes a token by a host. */
async function made({ server }: TestHost, json: object = {}) {
  const answer = await server.ask('POST', path, { json })
  expect(answer.status).toBe(201)
  return answer.json
}

describe('a join token', () => {
  test('names the authority of the fleet, and the hosts with keys that answer', async () => {
    const { store, one, front } = await startTwo()
    const other = (more: Partial<HostRow>) => ({
      ...newHostRow({ hostId: makeId('host'), bootId: '', version: '1', at: 1 }),
      ...{ state: 'ready' as const, trust: 'entry' as const, address: '10.9.9.9:4659', ...more },
    })
    await store.db
      .insertInto('hosts')
      .values([
        other({ trust: 'worker' }),
        other({ state: 'joining' }),
        other({ state: 'lost' }),
        other({ state: 'gone' }),
      ])
      .execute()
    await beatsOf(store, one)
    const { token } = await made(one)
    const masterKeys = await openMasterKeys(one.server.stateDir, { now: Date.now() })
    const { certificatePem } = await openPeerAuthority(sealedPlace(store, masterKeys))
    const [own, of] = [await hostRow(store, one), await hostRow(store, front)]
    expect(of.state).toBe('cordoned')
    expect(readJoinToken(token)).toMatchObject({ ca: certificatePem, fronts: [own.address, of.address] })
  })

  test('does not name a host that is silent', async () => {
    const { store, one, front } = await startTwo()
    one.cable.isCut = true
    await pass(24_000, { store, hosts: [one, front], beating: [front] })
    expect(readJoinToken((await made(front)).token).fronts).toEqual([(await hostRow(store, front)).address])
  })

  test('is listed on every host without its secret, and revoked', async () => {
    const { store, one, front } = await startTwo()
    const { token, ...first } = await made(one, { ttl_secs: 60, once: true })
    const { token: _, ...second } = await made(front)
    expect(Date.parse(first.expires_at) - Date.parse(first.created_at)).toBe(60_000)
    expect(Date.parse(second.expires_at) - Date.parse(second.created_at)).toBe(3_600_000)
    expect([first.once, second.once]).toEqual([true, false])
    const listed = await front.server.ask('GET', path)
    expect(listed.json.data).toHaveLength(2)
    expect(listed.json.data).toEqual(expect.arrayContaining([first, second]))
    const { secret } = readJoinToken(token)
    expect(listed.text).not.toContain(secret)
    expect(JSON.stringify(await store.db.selectFrom('join_tokens').selectAll().execute())).not.toContain(secret)
    expect((await front.server.ask('DELETE', `${path}/${first.token_id}`)).status).toBe(204)
    for (const id of [first.token_id, makeId('join_token'), 'none']) {
      const { status, json } = await front.server.ask('DELETE', `${path}/${id}`)
      expect([status, json.error.code]).toEqual([404, 'join_token_not_found'])
    }
    expect((await one.server.ask('GET', path)).json.data).toEqual([second])
  })

  test('is made once under one key of a repeated request, and needs a time', async () => {
    const { one } = await startTwo()
    const send = () => one.server.ask('POST', path, { json: {}, headers: { 'idempotency-key': 'once' } })
    const [first, again] = [await send(), await send()]
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    expect((await one.server.ask('GET', path)).json.data).toHaveLength(1)
    for (const ttl_secs of [0, 1.5, 30 * 24 * 3600 + 1])
      expect((await one.server.ask('POST', path, { json: { ttl_secs } })).json.error.code).toBe('invalid_request')
  })

  test('is for operators, and each change is in the audit log without the secret', async () => {
    const { one } = await startTwo()
    const { key } = await one.server.makeKey('admin')
    const { token_id, token } = await made(one)
    for (const [method, at] of [
      ['POST', path],
      ['GET', path],
      ['DELETE', `${path}/${token_id}`],
    ] as const) {
      const json = method === 'POST' ? { json: {} } : {}
      const { status } = await one.server.ask(method, at, { ...json, headers: { authorization: `Bearer ${key}` } })
      expect(status).toBe(403)
    }
    await one.server.ask('DELETE', `${path}/${token_id}`)
    const entriesOf = async () => {
      const { json, text } = await one.server.ask('GET', '/v1/agents/audit')
      expect(text).not.toContain(readJoinToken(token).secret)
      const ours = json.data.filter(({ route }: { route: string }) => route.endsWith('JoinToken'))
      return ours.map(({ route, status }: { route: string; status: number }) => `${route} ${status}`)
    }
    await expect.poll(entriesOf).toEqual(expect.arrayContaining(['createJoinToken 201', 'revokeJoinToken 204']))
  })

  test('is refused on a machine that is in no fleet', async () => {
    const { ask } = await startTestServer()
    const answers = [
      await ask('POST', path, { json: {} }),
      await ask('GET', path),
      await ask('DELETE', `${path}/${makeId('join_token')}`),
    ]
    for (const { status, json } of answers)
      expect([status, json.error.message]).toEqual([409, 'This machine is in no fleet.'])
  })
})
