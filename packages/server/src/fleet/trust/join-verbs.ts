import type { CertifiedKey } from '@holt/egress'
import { HoltError } from '@holt/protocol'
import { z } from 'zod'
import type { Foundation } from '../../foundation/foundation.ts'
import { newHostRow } from '../../foundation/host/host-row.ts'
import type { Changes } from '../../foundation/store/open-store.ts'
import { recordHostJoined } from '../../tenancy/events/record-host-event.ts'
import { isSameAddress } from '../peers/check-peer.ts'
import { signWorkerCertificate } from '../peers/host-certificate.ts'
import { splitAddress } from '../peers/peer-directory.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import { levelOf, workersFromLevel } from '../peers/protocol-range.ts'
import { certificatePath, isProved, type JoinAnswer, JoinQuestion, type WorkerCertificate } from './join-question.ts'
import { findUsableToken, useJoinToken } from './join-tokens.ts'
import type { WorkerRole } from './worker-role.ts'
import { workerUrl } from './worker-url.ts'

/** The parts of a front to which workers join. */
export interface JoinParts {
  readonly service: Pick<Foundation, 'store' | 'now' | 'log'>
  readonly authority: CertifiedKey
  /** The address of the database of the fleet. */
  readonly databaseUrl: string
  /**
   * Makes the role of a worker in the database, or gives it a new password, in one change with
   * `admit`. If one fails, neither is done.
   */
  readonly makeRole: (hostId: string, admit: (changes: Changes) => Promise<void>) => Promise<WorkerRole>
}

/**
 * Lets a worker join: uses the token, writes the host's row and makes its role in the database in
 * one change, and signs its certificate. A join that fails does not use the token up. A host that
 * is known joins again as itself with the same key only. Throws `unauthenticated` for a token that
 * is wrong, used, revoked or over, and `conflict` for the id of another host.
 */
export async function answerJoin(
  { service, authority, databaseUrl, makeRole }: JoinParts,
  { question, address }: { readonly question: unknown; readonly address: string | undefined },
): Promise<JoinAnswer> {
  const asked = JoinQuestion.safeParse(question)
  if (!asked.success) throw new HoltError('invalid_request', 'The request to join has another form.')
  const { hostId, publicKey } = asked.data
  if (!isProved(asked.data)) throw new HoltError('unauthenticated', 'The worker does not prove its key.')
  if (!isSameAddress(splitAddress(asked.data.address)?.host ?? '', address ?? ''))
    throw new HoltError('conflict', `The worker says that it is at ${asked.data.address}, and asks from ${address}.`, {
      hint: 'Set HOLT_PEER_ADDRESS of the worker to the address that the fronts see.',
    })
  // Checked first: the front makes nothing in the database for a stranger without a token.
  if ((await findUsableToken(service.store.db, asked.data.token, service.now())) === undefined) throw unusableToken()
  const admit = async (changes: Changes) => {
    await requireLevel(changes)
    if (!(await useJoinToken(changes, asked.data.token, service.now()))) throw unusableToken()
    await admitHost(changes, asked.data, service.now())
  }
  const made = await makeRole(hostId, admit).catch((cause: unknown) => {
    if (cause instanceof HoltError) throw cause
    service.log.error({ err: cause, host_id: hostId }, 'the database role of a worker could not be made')
    const why = cause instanceof Error ? cause.message : 'The log of the front has the reason.'
    throw new HoltError('conflict', `The front could not make the database role of the worker: ${why}`, { cause })
  })
  service.log.info({ host_id: hostId, peer: address, token_id: asked.data.token.id }, 'a worker has joined the fleet')
  const cert = await signWorkerCertificate(authority, { hostId, publicKey: Buffer.from(publicKey, 'base64') })
  return { ca: authority.certificatePem, cert, databaseUrl: workerUrl(databaseUrl, made) }
}

function unusableToken(): HoltError {
  return new HoltError('unauthenticated', 'The join token is wrong, used, revoked or over.', {
    hint: 'Make a new one with holt fleet token.',
  })
}

/** Throws if a host of the fleet does not know workers. */
async function requireLevel(changes: Changes): Promise<void> {
  const hosts = await changes.selectFrom('hosts').select(['state', 'protocol_max']).execute()
  if ((levelOf(hosts) ?? 0) >= workersFromLevel) return
  throw new HoltError('conflict', 'A host of the fleet has an older version, which does not know workers.', {
    hint: 'Upgrade it first. holt fleet status names the hosts that keep the level down.',
  })
}

/** Writes the row of a worker that joins, or checks that the row is its own. */
async function admitHost(
  changes: Changes,
  { hostId, publicKey, address, version }: JoinQuestion,
  now: number,
): Promise<void> {
  const row = await changes.selectFrom('hosts').selectAll().where('host_id', '=', hostId).executeTakeFirst()
  if (row === undefined) {
    const made = newHostRow({ hostId, bootId: '', version, at: now })
    await changes
      .insertInto('hosts')
      .values({ ...made, state: 'joining', address, trust: 'worker', public_key: publicKey })
      .execute()
    await recordHostJoined(changes, { hostId, at: now }, { trust: 'worker' })
    return
  }
  if (row.trust !== 'worker' || row.public_key !== publicKey)
    throw new HoltError('conflict', `The host ${hostId} has another key.`, {
      hint: 'Forget the host, and let the worker join as a new one: empty its state directory.',
    })
  if (row.state === 'gone') throw new HoltError('conflict', `The fleet has forgotten the host ${hostId}.`)
  await changes.updateTable('hosts').set({ address }).where('host_id', '=', hostId).execute()
}

const Nothing = z.strictObject({})

/** Returns the verb by which a worker renews its certificate. It names no host and no key. */
export function certificateVerb({ service, authority }: Pick<JoinParts, 'service' | 'authority'>): PeerVerbs {
  return {
    [certificatePath]: {
      mayAsk: 'every host',
      answer: async (question, _, { hostId, trust }): Promise<z.infer<typeof WorkerCertificate>> => {
        Nothing.parse(question)
        if (trust !== 'worker') throw new HoltError('forbidden', 'A host with keys signs its own certificate.')
        const row = await service.store.db
          .selectFrom('hosts')
          .select('public_key')
          .where('host_id', '=', hostId)
          .executeTakeFirst()
        if (row?.public_key == null) throw new HoltError('conflict', 'The host has no public key.')
        const publicKey = Buffer.from(row.public_key, 'base64')
        return { ca: authority.certificatePem, cert: await signWorkerCertificate(authority, { hostId, publicKey }) }
      },
    },
  }
}
