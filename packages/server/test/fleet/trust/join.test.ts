import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { makeId } from '@holt/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HostPeers } from '../../../src/fleet/hosts/host-peers.ts'
import { HostCertificate } from '../../../src/fleet/peers/host-certificate.ts'
import { PeerLinks } from '../../../src/fleet/peers/peer-links.ts'
import { askPeer, verbProtocol } from '../../../src/fleet/peers/peer-verbs.ts'
import { askToJoin } from '../../../src/fleet/trust/ask-to-join.ts'
import { certificatePath, joinPath, WorkerCertificate } from '../../../src/fleet/trust/join-question.ts'
import { joinTokenText, readJoinToken } from '../../../src/fleet/trust/join-token.ts'
import { listJoinTokens, revokeJoinToken } from '../../../src/fleet/trust/join-tokens.ts'
import { newHostRow } from '../../../src/foundation/host/host-row.ts'
import { joinQuestion, newKey, startFront, type WorkerKey } from '../../support/joining.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { certificateOf, never, newAuthority, startListener, TestDirectory } from '../../support/test-hosts.ts'

type Front = Awaited<ReturnType<typeof startFront>>

/** Returns the links of a worker that has joined. */
async function linksOfWorker({ store }: Front, { ca, cert }: { ca: string; cert: string }, key: WorkerKey) {
  const { log } = keepingLog()
  const sign = async () => ({ ca, cert, key: key.pem })
  const certificate = await HostCertificate.keep({ trust: 'worker', sign, log })
  const links = new PeerLinks({ certificate, directory: new HostPeers(store, { rows: [] }), log })
  onTestFinished(() => {
    certificate.close()
    links.close()
  })
  return links
}

async function join(front: Front, key = newKey()) {
  const token = await front.token()
  const question = joinQuestion(token, { key })
  const answer = await askToJoin(token, question)
  return { token, key, question, answer, links: await linksOfWorker(front, answer, key) }
}

function workersOf({ store }: Front) {
  return store.db.selectFrom('hosts').selectAll().where('trust', '=', 'worker').execute()
}

describe('a join', () => {
  test('a worker gets a certificate, a role of its own, and a row; the front knows it from then on', async () => {
    const front = await startFront()
    const { answer, question, key, links } = await join(front)
    expect(answer.databaseUrl).toBe(
      `postgres://worker_${question.hostId}:its%2Fown@db.example.com/holt?sslmode=require`,
    )
    expect(front.roles.made).toEqual([question.hostId])
    expect(await workersOf(front)).toMatchObject([
      { host_id: question.hostId, state: 'joining', address: '127.0.0.1:4659', public_key: key.publicKey },
    ])
    expect((await links.get(front.frontId, 'bytes', { path: '/', signal: never })).status).toBe(204)
  })

  test('a token counts its joins, and no attempts', async () => {
    const front = await startFront()
    const token = await front.token()
    for (let joins = 1; joins <= 2; joins += 1) await askToJoin(token, joinQuestion(token))
    const wrong = { ...token, secret: 'guessed' }
    await expect(askToJoin(wrong, joinQuestion(wrong))).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(await listJoinTokens(front.service)).toMatchObject([{ token_id: token.id, uses: 2 }])
  })

  test('no worker joins while a host has a version that does not know workers', async () => {
    const front = await startFront()
    const older = newHostRow({ hostId: makeId('host'), bootId: '', version: '0', at: 1 })
    await front.store.db
      .insertInto('hosts')
      .values({ ...older, protocol_min: 1, protocol_max: 1 })
      .execute()
    await expect(join(front)).rejects.toMatchObject({ code: 'conflict', hint: expect.stringContaining('Upgrade it') })
    expect(await workersOf(front)).toEqual([])
    await front.store.db.updateTable('hosts').set({ state: 'gone' }).where('version', '=', '0').execute()
    await join(front)
    expect(await workersOf(front)).toHaveLength(1)
  })

  test('the text of a token is read as it was written, and damage is told', async () => {
    const token = await (await startFront()).token()
    expect(readJoinToken(`${joinTokenText(token)}\n`)).toEqual(token)
    for (const text of ['', 'holt-join-1.e30', `x${joinTokenText(token)}`, joinTokenText({ ...token, ca: 'x' })])
      expect(() => readJoinToken(text)).toThrow('holt fleet token')
  })

  test('a worker renews its certificate, and can name no other host or key', async () => {
    const front = await startFront()
    const { links, key, answer } = await join(front)
    const ask = (question: unknown) => askPeer(links, front.frontId, { path: certificatePath, question, signal: never })
    const renewed = WorkerCertificate.parse(await ask({}))
    expect(renewed.cert).not.toBe(answer.cert)
    const again = await linksOfWorker(front, renewed, key)
    expect((await again.get(front.frontId, 'bytes', { path: '/', signal: never })).status).toBe(204)
    await expect(ask({ hostId: front.frontId })).rejects.toThrow()
    await expect(ask({ publicKey: newKey().publicKey })).rejects.toThrow()
  })

  test('a worker joins again as itself with its key, until the fleet has forgotten it', async () => {
    const front = await startFront()
    const { key, question } = await join(front)
    const token = await front.token()
    const again = joinQuestion(token, { key, hostId: question.hostId, address: '127.0.0.1:4700' })
    const { databaseUrl } = await askToJoin(token, again)
    expect(databaseUrl).toContain(question.hostId)
    expect(await workersOf(front)).toMatchObject([{ address: '127.0.0.1:4700' }])
    await front.store.db.updateTable('hosts').set({ state: 'gone' }).where('host_id', '=', question.hostId).execute()
    await expect(askToJoin(token, again)).rejects.toThrow('forgotten')
  })

  test('a host that the fleet has forgotten is refused, although its certificate is valid', async () => {
    const front = await startFront()
    const { links, question } = await join(front)
    await links.get(front.frontId, 'bytes', { path: '/', signal: never })
    await front.store.db.updateTable('hosts').set({ state: 'gone' }).where('host_id', '=', question.hostId).execute()
    await expect(links.get(front.frontId, 'bytes', { path: '/', signal: never })).rejects.toThrow()
    await expect(
      askPeer(links, front.frontId, { path: certificatePath, question: {}, signal: never }),
    ).rejects.toThrow()
  })
})

describe('a join that is refused', () => {
  test.each([
    ['a wrong secret', async (front: Front) => ({ ...(await front.token()), secret: 'guessed' })],
    ['an unknown token', async (front: Front) => ({ ...(await front.token()), id: 'jtunknown' })],
    [
      'a token that is over',
      async (front: Front) => {
        const token = await front.token({ ttlMs: 1_000 })
        front.clock.ms += 1_000
        return token
      },
    ],
    [
      'a revoked token',
      async (front: Front) => {
        const token = await front.token()
        expect(await revokeJoinToken(front.service, token.id)).toBe(true)
        return token
      },
    ],
    [
      'a used token for one join',
      async (front: Front) => {
        const token = await front.token({ uses: 'once' })
        await askToJoin(token, joinQuestion(token))
        await front.store.db.deleteFrom('hosts').where('trust', '=', 'worker').execute()
        front.roles.made.length = 0
        return token
      },
    ],
  ])('%s', async (_, tokenOf) => {
    const front = await startFront()
    const token = await tokenOf(front)
    await expect(askToJoin(token, joinQuestion(token))).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(await workersOf(front)).toEqual([])
    expect(front.roles.made).toEqual([])
  })

  test('does not use the token up, nor know the host, if the role cannot be made', async () => {
    const front = await startFront()
    const token = await front.token({ uses: 'once' })
    front.roles.isRefused = true
    await expect(askToJoin(token, joinQuestion(token))).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('this role may not make roles'),
    })
    expect(await workersOf(front)).toEqual([])
    expect(await listJoinTokens(front.service)).toMatchObject([{ token_id: token.id }])
    front.roles.isRefused = false
    await askToJoin(token, joinQuestion(token))
    expect(await listJoinTokens(front.service)).toEqual([])
  })

  test('of two joins at once with a token for one join, one succeeds', async () => {
    const front = await startFront()
    const token = await front.token({ uses: 'once' })
    const joins = await Promise.allSettled([1, 2, 3].map(() => askToJoin(token, joinQuestion(token))))
    expect(joins.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await workersOf(front)).toHaveLength(1)
    expect(await listJoinTokens(front.service)).toEqual([])
  })

  test('the id of an entry, or of a worker with another key', async () => {
    const front = await startFront()
    const { question } = await join(front)
    const token = await front.token({ uses: 'once' })
    for (const hostId of [front.frontId, question.hostId])
      await expect(askToJoin(token, joinQuestion(token, { hostId }))).rejects.toMatchObject({ code: 'conflict' })
    expect(front.roles.made).toEqual([question.hostId])
    const rows = await front.store.db.selectFrom('hosts').select(['host_id', 'trust']).orderBy('trust').execute()
    expect(rows).toEqual([
      { host_id: front.frontId, trust: 'entry' },
      { host_id: question.hostId, trust: 'worker' },
    ])
    // A refused join does not use the token up.
    await askToJoin(token, joinQuestion(token))
  })

  test('a public key that the asker does not have, and an address of another machine', async () => {
    const front = await startFront()
    const token = await front.token()
    const stolen = { ...joinQuestion(token), publicKey: newKey().publicKey }
    await expect(askToJoin(token, stolen)).rejects.toMatchObject({ code: 'unauthenticated' })
    const elsewhere = joinQuestion(token, { address: '10.9.9.9:4659' })
    await expect(askToJoin(token, elsewhere)).rejects.toMatchObject({ code: 'conflict' })
    expect(await workersOf(front)).toEqual([])
  })

  test('a front that the authority of the token does not certify, or a worker, gets no secret', async () => {
    const front = await startFront()
    const foreign = await front.token({}, { ca: (await newAuthority()).certificatePem })
    await expect(askToJoin(foreign, joinQuestion(foreign))).rejects.toThrow('no front')
    const seen: unknown[] = []
    const certificate = await certificateOf(front.authority, makeId('host'), { trust: 'worker' })
    const thief = await startListener(front.authority, new TestDirectory(), async () => {}, {
      certificate,
      answerStranger: async ({ headers }) => void seen.push(headers),
    })
    const token = await front.token({}, { fronts: [`127.0.0.1:${thief.port}`] })
    await expect(askToJoin(token, joinQuestion(token))).rejects.toThrow('no front')
    expect(seen).toEqual([])
    expect(await workersOf(front)).toEqual([])
  })
})

describe('a machine without a certificate', () => {
  /** Opens a connection without a certificate. */
  function stranger({ port, authority }: Front) {
    const servername = 'fleet.peer.holt'
    const session = connectHttp2(`https://${servername}`, {
      createConnection: () =>
        connectTls({
          ...{ host: '127.0.0.1', port, ca: authority.certificatePem, servername, ALPNProtocols: ['h2'] },
          checkServerIdentity: () => undefined,
        }),
    })
    session.on('error', () => {})
    onTestFinished(() => session.destroy())
    return session
  }

  const verb = { ':method': 'CONNECT', ':protocol': verbProtocol, ':scheme': 'https', ':authority': 'x' }

  test.each([
    ['another verb', { ...verb, ':path': certificatePath }],
    ['a forwarded request', { ...verb, ':protocol': 'holt-request', ':path': '/' }],
    ['an artifact', { ':method': 'GET', ':path': '/peer/artifact/image/x' }],
    ['the join with GET', { ':method': 'GET', ':path': joinPath }],
  ])('is closed when it asks for %s', async (_, headers) => {
    const session = stranger(await startFront())
    await once(session, 'remoteSettings')
    const seen: unknown[] = []
    const stream = session.request(headers, { endStream: false })
    stream.on('response', (answer) => seen.push(answer)).on('error', () => {})
    await new Promise((resolve) => stream.once('close', resolve))
    expect(seen).toEqual([])
  })

  test('one address that floods is cut, and hosts are served meanwhile', async () => {
    const front = await startFront()
    const { links } = await join(front)
    const sessions = Array.from({ length: 60 }, () => stranger(front))
    await Promise.all(sessions.map((opened) => Promise.race([once(opened, 'remoteSettings'), once(opened, 'close')])))
    await expect.poll(() => sessions.filter(({ destroyed }) => !destroyed).length).toBeLessThanOrEqual(16)
    expect((await links.get(front.frontId, 'bytes', { path: '/', signal: never })).status).toBe(204)
  })

  test('has one stream', async () => {
    const session = stranger(await startFront())
    await once(session, 'remoteSettings')
    const closed = once(session, 'close')
    for (let at = 0; at < 2; at += 1) session.request({ ...verb, ':path': joinPath }).on('error', () => {})
    await closed
  })
})
