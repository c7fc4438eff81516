import { makeId } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { requestProtocol } from '../../../src/fleet/forwarding/accept-forwarded.ts'
import { vouchHeaders } from '../../../src/fleet/forwarding/vouch-headers.ts'
import { Unreachable } from '../../../src/fleet/peers/peer-links.ts'
import { answerVerb, askPeer, maxWorkerBytes, type PeerVerbs } from '../../../src/fleet/peers/peer-verbs.ts'
import { startTestFleet } from '../../support/test-fleet.ts'
import { certificateOf, linksOf, never, newAuthority, startListener, TestDirectory } from '../../support/test-hosts.ts'
import { onPostgres } from '../../support/test-store.ts'

/** Starts a host with verbs, and notes what they were asked. */
async function startVerbs(trust: 'entry' | 'worker' = 'entry') {
  const authority = await newAuthority()
  const directory = new TestDirectory()
  const asked: unknown[] = []
  const note = async (question: unknown, _: AbortSignal, asker: unknown) => {
    asked.push([question, asker])
    return 'told'
  }
  const verbs: PeerVerbs = { '/of-entries': note, '/of-all': { mayAsk: 'every host', answer: note } }
  const hostId = makeId('host')
  const certificate = await certificateOf(authority, hostId, { trust })
  const answer = async (stream: Parameters<typeof answerVerb>[1]) => {
    if (stream.headers[':method'] === 'GET') stream.stream.respond({ ':status': 204 }, { endStream: true })
    else await answerVerb(verbs, stream)
  }
  const { listener } = await startListener(authority, directory, answer, { certificate })
  directory.put(hostId, listener.port, { trust })
  return { authority, directory, hostId, asked }
}

const question = { question: 'who?', signal: never }

describe('the verbs of a host', () => {
  test('a verb knows who asks, and a worker gets those for every host alone', async () => {
    const { authority, directory, hostId, asked } = await startVerbs()
    const workerId = makeId('host')
    const worker = await linksOf(authority, directory, { hostId: workerId, trust: 'worker' })
    expect(await askPeer(worker, hostId, { path: '/of-all', ...question })).toBe('told')
    expect(asked).toEqual([['who?', { hostId: workerId, trust: 'worker' }]])
    await expect(askPeer(worker, hostId, { path: '/of-entries', ...question })).rejects.toThrow('403')
    expect(asked).toHaveLength(1)
  })

  test('an entry asks every verb', async () => {
    const { authority, directory, hostId, asked } = await startVerbs()
    const links = await linksOf(authority, directory)
    for (const path of ['/of-entries', '/of-all'])
      expect(await askPeer(links, hostId, { path, ...question })).toBe('told')
    expect(asked).toHaveLength(2)
  })

  test('a worker asks short questions alone', async () => {
    const { authority, directory, hostId, asked } = await startVerbs()
    const worker = await linksOf(authority, directory, { trust: 'worker' })
    const long = { path: '/of-all', question: 'x'.repeat(maxWorkerBytes), signal: never }
    await expect(askPeer(worker, hostId, long)).rejects.toThrow()
    const entry = await linksOf(authority, directory)
    expect(await askPeer(entry, hostId, long)).toBe('told')
    expect(asked).toHaveLength(1)
  })

  test('a worker asks entries alone, and fetches files from every host', async () => {
    const { authority, directory, hostId, asked } = await startVerbs('worker')
    const worker = await linksOf(authority, directory, { trust: 'worker' })
    await expect(askPeer(worker, hostId, { path: '/of-all', ...question })).rejects.toThrow(Unreachable)
    expect((await worker.get(hostId, 'bytes', { path: '/', signal: never })).status).toBe(204)
    const entry = await linksOf(authority, directory)
    expect(await askPeer(entry, hostId, { path: '/of-all', ...question })).toBe('told')
    expect(asked).toHaveLength(1)
  })
})

// Each host has a copy of one SQLite file.
describe.skipIf(onPostgres)('a worker that vouches', () => {
  test.each(['entry', 'worker'] as const)('the owner answers for the vouch of a host that is %s', async (trust) => {
    const { authority, directory, owner, runtimeId } = await startTestFleet()
    const links = await linksOf(authority, directory, { trust })
    const caller = {
      projectId: 'pr1',
      keyId: 'ky1',
      keyName: 'stolen',
      keyVersion: 1,
      scopes: new Set(['operator'] as const),
    }
    const vouch = { requestId: 'rq1', address: null, isSecure: true, caller, visit: null }
    const owned = { type: 'runtime', projectId: 'pr1', id: runtimeId } as const
    const headers = { ':protocol': requestProtocol, ...vouchHeaders({ vouch, owned, deadlineMs: 5000 }) }
    const opened = await links.open(owner.own.hostId, 'small', { headers, signal: never })
    expect(opened).toMatchObject(trust === 'entry' ? { type: 'open' } : { type: 'refused', status: 403 })
    if (opened.type === 'open') opened.connection.destroy()
  })
})
