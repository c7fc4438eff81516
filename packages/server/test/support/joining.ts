import { generateKeyPairSync } from 'node:crypto'
import { makeId } from '@holt/protocol'
import { onTestFinished } from 'vitest'
import { HostPeers } from '../../src/fleet/hosts/host-peers.ts'
import { answerVerb } from '../../src/fleet/peers/peer-verbs.ts'
import { joinDoor } from '../../src/fleet/trust/join-door.ts'
import { type JoinQuestion, proved } from '../../src/fleet/trust/join-question.ts'
import type { JoinToken } from '../../src/fleet/trust/join-token.ts'
import { type JoinTokenTerms, makeJoinToken } from '../../src/fleet/trust/join-tokens.ts'
import { certificateVerb, type JoinParts } from '../../src/fleet/trust/join-verbs.ts'
import { newHostRow } from '../../src/foundation/host/host-row.ts'
import { aloneWithService } from '../../src/foundation/store/alone.ts'
import { keepingLog } from './start-test-server.ts'
import { certificateOf, newAuthority, startListener, TestDirectory } from './test-hosts.ts'
import { openTestStore } from './test-store.ts'

/** A key that a worker has made. */
export type WorkerKey = ReturnType<typeof newKey>

/** Makes the key of a worker. */
export function newKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    privateKey,
    pem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  }
}

/** Starts the listener of a front with a store, to which workers join. */
export async function startFront() {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const authority = await newAuthority()
  const clock = { ms: Date.now() }
  const service = { store, now: () => clock.ms, log: keepingLog().log }
  const roles = { made: [] as string[], isRefused: false }
  const parts: JoinParts = {
    service,
    authority,
    databaseUrl: 'postgres://holt:everything@db.example.com/holt?sslmode=require',
    makeRole: async (hostId, admit) => {
      await store.change(aloneWithService, async (changes) => {
        await admit(changes)
        if (roles.isRefused) throw new Error('this role may not make roles')
      })
      roles.made.push(hostId)
      return { role: `worker_${hostId}`, password: 'its/own' }
    },
  }
  const frontId = makeId('host')
  const front = newHostRow({ hostId: frontId, bootId: '', version: '1', at: clock.ms })
  await store.db
    .insertInto('hosts')
    .values({ ...front, protocol_min: 1, protocol_max: 2 })
    .execute()
  const directory = new HostPeers(store, { rows: [] })
  const verbs = certificateVerb(parts)
  const started = await startListener(
    authority,
    new TestDirectory(),
    async (asked) => {
      if (asked.headers[':method'] === 'GET') asked.stream.respond({ ':status': 204 }, { endStream: true })
      else await answerVerb(verbs, asked)
    },
    { certificate: await certificateOf(authority, frontId), directory, answerStranger: joinDoor(parts) },
  )
  await store.db
    .updateTable('hosts')
    .set({ address: `127.0.0.1:${started.port}`, state: 'ready' })
    .where('host_id', '=', frontId)
    .execute()
  const token = async (terms: Partial<JoinTokenTerms> = {}, more: Partial<JoinToken> = {}): Promise<JoinToken> => {
    const usual = { id: makeId('join_token'), ttlMs: 60_000, uses: 'until it ends' } as const
    const { id, secret } = await makeJoinToken(service, { ...usual, ...terms })
    return { ca: authority.certificatePem, fronts: [`127.0.0.1:${started.port}`], id, secret, ...more }
  }
  return { ...started, frontId, store, authority, clock, service, roles, token }
}

/** Returns the question of a worker that joins with a token. */
export function joinQuestion(
  { id, secret }: JoinToken,
  { key = newKey(), ...more }: { readonly key?: WorkerKey } & Partial<Omit<JoinQuestion, 'proof'>> = {},
): JoinQuestion {
  const { publicKey } = key
  const own = { hostId: makeId('host'), address: '127.0.0.1:4659', publicKey, version: '1' }
  return proved({ token: { id, secret }, ...own, ...more }, key.privateKey)
}
