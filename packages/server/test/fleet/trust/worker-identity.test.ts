import { X509Certificate } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { HostPeers } from '../../../src/fleet/hosts/host-peers.ts'
import { peerNameOf } from '../../../src/fleet/peers/host-certificate.ts'
import { PeerLinks } from '../../../src/fleet/peers/peer-links.ts'
import { askPeer } from '../../../src/fleet/peers/peer-verbs.ts'
import { joinTokenText } from '../../../src/fleet/trust/join-token.ts'
import { keepWorkerCertificate } from '../../../src/fleet/trust/worker-certificate.ts'
import { openWorker, type StartingWorker } from '../../../src/fleet/trust/worker-identity.ts'
import { startFront } from '../../support/joining.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { newStateDir } from '../../support/test-store.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Starts a front, and a worker with a file that has a token for one join. */
async function startWorker() {
  const front = await startFront()
  const stateDir = await newStateDir()
  const tokenFile = join(stateDir, 'token')
  const writeToken = async () => writeFile(tokenFile, `${joinTokenText(await front.token({ uses: 'once' }))}\n`)
  await writeToken()
  const worker: StartingWorker = {
    ...{ stateDir, tokenFile, hostId: makeId('host'), address: '127.0.0.1:4659', now: Date.now() },
  }
  return { front, worker, writeToken, path: join(stateDir, 'worker.json') }
}

test('a worker joins at its first start, and later starts need no token', async () => {
  const { front, worker, path } = await startWorker()
  const first = await openWorker(worker)
  expect(new X509Certificate(first.credentials.cert).subjectAltName).toBe(`DNS:${peerNameOf(worker.hostId, 'worker')}`)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const again = await openWorker({ ...worker, tokenFile: null })
  expect([again.credentials, again.databaseUrl]).toEqual([first.credentials, first.databaseUrl])
  expect(front.roles.made).toEqual([worker.hostId])
})

test('a worker whose certificate has expired joins again as the same host, with its old key', async () => {
  const { front, worker, writeToken } = await startWorker()
  const first = await openWorker(worker)
  const later = { ...worker, now: worker.now + dayMs }
  await expect(openWorker({ ...later, tokenFile: null })).rejects.toThrow('holt fleet token')
  await expect(openWorker(later)).rejects.toThrow('used')
  await writeToken()
  const second = await openWorker(later)
  expect(second.credentials.key).toBe(first.credentials.key)
  expect(second.credentials.cert).not.toBe(first.credentials.cert)
  expect(await front.store.db.selectFrom('hosts').select('host_id').where('trust', '=', 'worker').execute()).toEqual([
    { host_id: worker.hostId },
  ])
})

test('a key whose join was not answered joins with the next token', async () => {
  const { worker, front, path, writeToken } = await startWorker()
  await front.listener.close()
  await expect(openWorker(worker)).rejects.toThrow('no front')
  const { key, joined } = JSON.parse(await readFile(path, 'utf8'))
  expect([typeof key, joined]).toEqual(['string', null])
  const other = await startWorker()
  await writeToken()
  const there = await openWorker({ ...worker, tokenFile: other.worker.tokenFile })
  expect(there.credentials.key).toBe(key)
})

test('a worker joins at its own entry, although the fronts of its token are gone', async () => {
  const { worker, front, writeToken } = await startWorker()
  const [entry = ''] = (await front.token({ uses: 'once' })).fronts
  await writeFile(
    worker.tokenFile ?? '',
    joinTokenText({ ...(await front.token({ uses: 'once' })), fronts: ['127.0.0.1:1'] }),
  )
  await expect(openWorker(worker)).rejects.toThrow('no front')
  expect((await openWorker({ ...worker, entry })).databaseUrl).not.toBe('')
  await writeToken()
  // An entry that does not answer keeps nobody from the fronts of the token.
  const next = { ...worker, stateDir: await newStateDir(), hostId: makeId('host'), entry: '127.0.0.1:1' }
  expect((await openWorker(next)).databaseUrl).not.toBe('')
})

test('a renewed certificate is kept for the next start', async () => {
  const { worker } = await startWorker()
  const first = await openWorker(worker)
  const { ca, cert } = (await openWorker((await startWorker()).worker)).credentials
  expect(await first.keep({ ca, cert })).toEqual({ ca, cert, key: first.credentials.key })
  expect((await openWorker({ ...worker, tokenFile: null })).credentials).toMatchObject({ ca, cert })
  await expect(first.keep({ cert })).rejects.toThrow()
})

test('a state directory with master keys, or a damaged file, is refused', async () => {
  const { worker, path } = await startWorker()
  await writeFile(path, '{"key":1}')
  await expect(openWorker(worker)).rejects.toThrow('damaged')
  await writeFile(join(worker.stateDir, 'master-keys.json'), '{}')
  await expect(openWorker(worker)).rejects.toThrow('master keys')
})

test('a worker renews its certificate at the fronts that answer, and keeps it', async () => {
  const { front, worker } = await startWorker()
  const identity = await openWorker(worker)
  let links: PeerLinks | null = null
  const seen: string[] = []
  const certificate = await keepWorkerCertificate(
    { identity, fronts: () => [makeId('host'), front.frontId] },
    {
      ask: (hostId, path, question, signal) => {
        seen.push(hostId)
        return askPeer(links as PeerLinks, hostId, { path, question, signal })
      },
      log: keepingLog().log,
      everyMs: 100,
    },
  )
  links = new PeerLinks({ certificate, directory: new HostPeers(front.store, { rows: [] }), log: keepingLog().log })
  onTestFinished(() => {
    certificate.close()
    links?.close()
  })
  expect(certificate.current).toEqual(identity.credentials)
  await expect.poll(() => certificate.current.cert, { timeout: 20_000 }).not.toBe(identity.credentials.cert)
  expect(seen.slice(0, 2)).toEqual([seen[0], front.frontId])
  certificate.close()
  const kept = await openWorker({ ...worker, tokenFile: null })
  expect(kept.credentials.cert).not.toBe(identity.credentials.cert)
})
