import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { askToJoin } from '../../../src/fleet/trust/ask-to-join.ts'
import { readJoinToken } from '../../../src/fleet/trust/join-token.ts'
import { dropWorkerRole } from '../../../src/fleet/trust/worker-role.ts'
import { openStore } from '../../../src/foundation/store/open-store.ts'
import { Session } from '../../../src/foundation/store/postgres/session.ts'
import { startHost, type TestHost } from '../../support/fleet.ts'
import { joinQuestion } from '../../support/joining.ts'
import { ask, type Cluster, hasPostgres, startCluster } from '../../support/postgres-cluster.ts'

const path = '/v1/agents/join-token'

/** Makes a token by the route. */
async function tokenOf({ server }: TestHost, json: object = {}) {
  const answer = await server.ask('POST', path, { json })
  expect(answer.status).toBe(201)
  return readJoinToken(answer.json.token)
}

describe.skipIf(!hasPostgres())('a worker with a token of the route', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
    // Everyone but the service has to prove a password.
    const rules = join(cluster.directory, 'pg_hba.conf')
    const services = ['holt', 'plain'].map((role) => `local all ${role} trust\n`).join('')
    await writeFile(rules, `${services}local all all scram-sha-256\n${await readFile(rules, 'utf8')}`)
    await cluster.run('SELECT pg_reload_conf()')
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  /** Removes the role of a worker, which belongs to the whole server. */
  async function forget(url: string, hostId: string) {
    const store = await openStore({ type: 'postgres', url, fleet: true }, () => undefined)
    await dropWorkerRole(store, hostId)
    await store.close()
  }

  test('joins over TLS, and opens the database with its own role and password', async () => {
    await cluster.run('CREATE DATABASE joined')
    const url = cluster.url('joined')
    const front = await startHost({ url })
    const token = await tokenOf(front)
    const question = joinQuestion(token)
    const { databaseUrl, ca } = await askToJoin(token, question)
    expect(ca).toBe(token.ca)
    const session = await Session.open(databaseUrl, 'a worker')
    const rows = async (statement: string) => (await session.script(statement)).rows
    expect(await rows('SELECT current_user AS role')).toEqual([
      { role: expect.stringMatching(new RegExp(`^holt_worker_.*_${question.hostId}$`)) },
    ])
    expect(await rows(`SELECT trust, state FROM hosts WHERE host_id = '${question.hostId}'`)).toEqual([
      { trust: 'worker', state: 'joining' },
    ])
    await expect(session.script('SELECT * FROM join_tokens')).rejects.toMatchObject({ sqlstate: '42501' })
    await session.close()
    const guessed = new URL(databaseUrl)
    guessed.password = 'guessed'
    await expect(Session.open(guessed.href, 'a guesser')).rejects.toThrow()
    expect((await front.server.ask('GET', path)).json.data).toMatchObject([{ token_id: token.id, uses: 1 }])
    await forget(url, question.hostId)
  })

  test('is refused with a used, an expired and a revoked one, and gets no role', async () => {
    await cluster.run('CREATE DATABASE refused')
    const url = cluster.url('refused')
    const front = await startHost({ url })
    const used = await tokenOf(front, { once: true })
    const first = joinQuestion(used)
    await askToJoin(used, first)
    const expired = await tokenOf(front)
    await ask(url, `UPDATE join_tokens SET expires_at = 1 WHERE token_id = '${expired.id}'`)
    const revoked = await tokenOf(front)
    expect((await front.server.ask('DELETE', `${path}/${revoked.id}`)).status).toBe(204)
    for (const token of [used, expired, revoked])
      await expect(askToJoin(token, joinQuestion(token))).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(await ask(url, `SELECT host_id FROM hosts WHERE trust = 'worker'`)).toEqual([{ host_id: first.hostId }])
    const roles = await cluster.run(`SELECT rolname FROM pg_roles WHERE rolname LIKE 'holt_worker_%_ho%'`)
    expect(roles).toEqual([{ rolname: expect.stringContaining(first.hostId) }])
    await forget(url, first.hostId)
  })

  test('keeps a token for one join if the front may not make roles', async () => {
    await cluster.run('CREATE ROLE plain LOGIN')
    await cluster.run('CREATE DATABASE plain OWNER plain')
    const url = cluster.url('plain').replace('//holt@', '//plain@')
    const front = await startHost({ url })
    const token = await tokenOf(front, { once: true })
    await expect(askToJoin(token, joinQuestion(token))).rejects.toThrow('CREATEROLE')
    await cluster.run('ALTER ROLE plain CREATEROLE')
    const first = joinQuestion(token)
    await askToJoin(token, first)
    // Now the group has its rights, and only the role of the worker cannot be made.
    await cluster.run('ALTER ROLE plain NOCREATEROLE')
    const next = await tokenOf(front, { once: true })
    await expect(askToJoin(next, joinQuestion(next))).rejects.toThrow('CREATEROLE')
    expect(await ask(url, `SELECT host_id FROM hosts WHERE trust = 'worker'`)).toEqual([{ host_id: first.hostId }])
    const left = await ask(url, `SELECT token_id FROM join_tokens WHERE is_single_use = 1`)
    expect(left).toEqual([{ token_id: next.id }])
    await cluster.run('ALTER ROLE plain CREATEROLE')
    const last = joinQuestion(next)
    await askToJoin(next, last)
    for (const { hostId } of [first, last]) await forget(url, hostId)
  })
})
