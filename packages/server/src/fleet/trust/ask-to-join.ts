import { connect, constants } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { HoltError } from '@holt/protocol'
import { NoPeer, peerOf } from '../peers/check-peer.ts'
import { PeerConnection } from '../peers/peer-connection.ts'
import { splitAddress } from '../peers/peer-directory.ts'
import { askOver, verbProtocol } from '../peers/peer-verbs.ts'
import { tlsVersion } from '../peers/wire-limits.ts'
import { JoinAnswer, type JoinQuestion, joinPath } from './join-question.ts'
import type { JoinToken } from './join-token.ts'

/** The time for an answer of one front, in milliseconds. It makes a role in the database. */
const askTimeoutMs = 20_000

/** The name that the TLS client sends. The names of fronts are checked by their trust. */
const serverName = 'fleet.peer.holt'

/**
 * Asks the fronts of a token, one after another, to let a worker join. Only a host that the
 * authority in the token certifies as an entry gets the secret. Throws the refusal of a front, and
 * an error that names all of them if none answers.
 */
export async function askToJoin({ ca, fronts }: JoinToken, question: JoinQuestion): Promise<JoinAnswer> {
  const failures: string[] = []
  for (const address of fronts) {
    try {
      return JoinAnswer.parse(await askFront(address, ca, question))
    } catch (error) {
      if (error instanceof HoltError && error.code !== 'unavailable') throw error
      failures.push(`${address}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw new Error(`no front lets this worker join. ${failures.join('. ')}`)
}

async function askFront(address: string, ca: string, question: JoinQuestion): Promise<unknown> {
  const place = splitAddress(address)
  if (place === null) throw new Error('it is no address')
  const signal = AbortSignal.timeout(askTimeoutMs)
  const socket = connectTls({
    ...place,
    ca,
    servername: serverName,
    checkServerIdentity: (_, shown) => notEntry(shown),
    minVersion: tlsVersion,
    ALPNProtocols: ['h2'],
  })
  const session = connect(`https://${serverName}`, { createConnection: () => socket, settings: { enablePush: false } })
  try {
    return await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('it does not answer in time')))
      session.once('error', reject)
      session.once('close', () => reject(new Error('it closed the connection')))
      session.once('remoteSettings', () => {
        const stream = session.request({
          ...{ ':method': 'CONNECT', ':protocol': verbProtocol, ':path': joinPath },
          ...{ ':scheme': 'https', ':authority': serverName },
        })
        stream.once('error', reject)
        stream.once('close', () => reject(new Error('it refused the request')))
        stream.once('response', ({ ':status': status }) => {
          if (status !== constants.HTTP_STATUS_OK) reject(new Error(`it refused the request with ${status}`))
          else askOver(new PeerConnection(stream), question, signal).then(resolve, reject)
        })
      })
    })
  } finally {
    session.destroy()
  }
}

function notEntry(shown: Parameters<typeof peerOf>[0]): Error | undefined {
  try {
    return peerOf(shown).trust === 'entry' ? undefined : new NoPeer('the host is a worker')
  } catch (error) {
    return error as NoPeer
  }
}
