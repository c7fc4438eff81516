import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { z } from 'zod'

/** The path of the question by which a worker joins. Strangers may ask it. */
export const joinPath = '/peer/join'

/** The path of the question by which a worker renews its certificate. */
export const certificatePath = '/peer/certificate'

/** A request of a worker to join a fleet. */
export const JoinQuestion = z.strictObject({
  token: z.strictObject({ id: z.string().max(64), secret: z.string().max(128) }),
  /** The id that the worker has made, and keeps. */
  hostId: z.string().regex(/^ho[a-z0-9]{20}$/),
  /** The address of its listener for other hosts. */
  address: z.string().max(64),
  /** Its public key: SPKI in base64. */
  publicKey: z.string().max(512),
  /** The signature of the other fields by the private key, in base64. */
  proof: z.string().max(512),
  version: z.string().max(64),
})
export type JoinQuestion = z.infer<typeof JoinQuestion>

/** The certificate of a worker. */
export const WorkerCertificate = z.object({
  /** The certificate of the fleet's authority, in PEM. */
  ca: z.string(),
  /** The certificate of the worker, in PEM. */
  cert: z.string(),
})

/** The answer to a join. */
export const JoinAnswer = WorkerCertificate.extend({
  /** The address of the database, with the role and the password of this worker. */
  databaseUrl: z.string(),
})
export type JoinAnswer = z.infer<typeof JoinAnswer>

/** Returns a question with its proof, that the asker has the private key (as in RFC 2986). */
export function proved(question: Omit<JoinQuestion, 'proof'>, privateKey: KeyObject): JoinQuestion {
  return { ...question, proof: sign('sha256', signedPart(question), privateKey).toString('base64') }
}

/** Returns true if the asker has the private key of a question. */
export function isProved({ proof, ...question }: JoinQuestion): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(question.publicKey, 'base64'), format: 'der', type: 'spki' })
    const isOurs = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    return isOurs && verify('sha256', signedPart(question), key, Buffer.from(proof, 'base64'))
  } catch {
    return false // The key has another form.
  }
}

function signedPart({ token, hostId, address, publicKey, version }: Omit<JoinQuestion, 'proof'>): Buffer {
  return Buffer.from(JSON.stringify(['holt join 1', token.id, hostId, address, publicKey, version]))
}
