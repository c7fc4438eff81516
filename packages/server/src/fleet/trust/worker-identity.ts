import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { readIfThere } from '../../foundation/config/installation.ts'
import { version } from '../../foundation/config/version.ts'
import { writeDurably } from '../../foundation/config/write-durably.ts'
import type { HostCredentials } from '../peers/host-certificate.ts'
import { askToJoin } from './ask-to-join.ts'
import { proved, WorkerCertificate } from './join-question.ts'
import { readJoinToken } from './join-token.ts'

/** The least validity with which a certificate is used at a start, in milliseconds. */
const leastValidMs = 60_000

/** The file of a worker in its state directory, of mode 0600. */
const keptFile = 'worker.json'

const Kept = z.object({
  /** Its private key: PKCS #8 in PEM. It stays the same, and proves the worker at each join. */
  key: z.string(),
  joined: z.object({ ca: z.string(), cert: z.string(), databaseUrl: z.string() }).nullable(),
})
type Kept = z.infer<typeof Kept>

/** A worker that is about to start. */
export interface StartingWorker {
  readonly stateDir: string
  readonly hostId: string
  /** The address of its listener for other hosts. */
  readonly address: string
  /** The file of a join token; null: there is none. */
  readonly tokenFile: string | null
  /** An address of fronts that is asked before those of the token. Default: only those. */
  readonly entry?: string | null
  /** Milliseconds since 1970 UTC. */
  readonly now: number
}

/** A worker that has joined. */
export interface WorkerIdentity {
  readonly credentials: HostCredentials
  /** The address of the database, with the role of this worker. */
  readonly databaseUrl: string
  /** Keeps a renewed certificate for later starts, and returns it with the key. */
  keep(renewed: unknown): Promise<HostCredentials>
}

/**
 * Returns the identity of a worker. It joins with its token if it never has, or if its certificate
 * has expired. Its key stays, so it joins again as the same host. Throws an error for the operator
 * if it needs a token and has none, or if no front lets it join.
 */
export async function openWorker(worker: StartingWorker): Promise<WorkerIdentity> {
  const path = join(worker.stateDir, keptFile)
  await refuseKeys(worker.stateDir)
  const kept = await openKept(path)
  const isValid = kept.joined !== null && validUntil(kept.joined.cert) > worker.now + leastValidMs
  const joined = isValid && kept.joined !== null ? kept.joined : await joinWith(kept.key, worker)
  if (joined !== kept.joined) await write(path, { ...kept, joined })
  const { ca, cert, databaseUrl } = joined
  return {
    credentials: { ca, cert, key: kept.key },
    databaseUrl,
    keep: async (renewed) => {
      const next = WorkerCertificate.parse(renewed)
      await write(path, { ...kept, joined: { ...next, databaseUrl } })
      return { ...next, key: kept.key }
    },
  }
}

/** The part of a join that a worker keeps. */
export interface KeptJoin {
  /** The end of its certificate, in milliseconds since 1970 UTC. */
  readonly validUntil: number
  readonly databaseUrl: string
}

/** Reads the join that a worker keeps, and changes nothing. Returns null if it has not joined. */
export async function readJoin(stateDir: string): Promise<KeptJoin | null> {
  const kept = Kept.safeParse(parsed((await readIfThere(join(stateDir, keptFile))) ?? ''))
  const joined = kept.data?.joined ?? null
  return joined === null ? null : { validUntil: validUntil(joined.cert), databaseUrl: joined.databaseUrl }
}

/** Throws if the state directory has master keys. A worker with them would be no worker. */
async function refuseKeys(stateDir: string): Promise<void> {
  if ((await readIfThere(join(stateDir, 'master-keys.json'))) !== null)
    throw new Error('a worker has no master keys: start it with an empty state directory (HOLT_STATE_DIR)')
}

/** Returns the stored key of the worker. The first call makes it, before anything is asked. */
async function openKept(path: string): Promise<Kept> {
  const text = await readIfThere(path)
  if (text !== null) {
    const kept = Kept.safeParse(parsed(text))
    if (kept.success) return kept.data
    throw new Error('worker.json in the state directory is damaged: forget the host, and empty its state directory')
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const made: Kept = { key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })), joined: null }
  await write(path, made)
  return made
}

async function joinWith(
  key: string,
  { hostId, address, tokenFile, entry = null }: StartingWorker,
): Promise<Kept['joined'] & object> {
  const text = tokenFile === null ? null : await readIfThere(tokenFile)
  if (text === null)
    throw new Error(
      'this worker has no valid certificate: write a token of holt fleet token into a file, and set HOLT_JOIN_TOKEN_FILE to it',
    )
  const token = readJoinToken(text)
  const privateKey = createPrivateKey(key)
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')
  const { id, secret, fronts } = token
  const asked = { ...token, fronts: entry === null ? fronts : [entry, ...fronts] }
  return askToJoin(asked, proved({ token: { id, secret }, hostId, address, publicKey, version }, privateKey))
}

function write(path: string, kept: Kept): Promise<void> {
  return writeDurably(path, `${JSON.stringify(kept)}\n`)
}

function validUntil(cert: string): number {
  return Date.parse(new X509Certificate(cert).validTo)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // The schema refuses it.
  }
}
