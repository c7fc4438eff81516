import { cp } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer, type RequestListener } from 'node:http'
import type { CertifiedKey } from '@holt/egress'
import { onTestFinished } from 'vitest'
import type { FleetParts } from '../../src/fleet/forwarding/open-peers.ts'
import { openPeerAuthority, sealedPlace } from '../../src/fleet/peers/peer-authority.ts'
import { PeerConnection } from '../../src/fleet/peers/peer-connection.ts'
import type { PeerStream } from '../../src/fleet/peers/peer-listener.ts'
import { hostProtocol, type ProtocolRange } from '../../src/fleet/peers/protocol-range.ts'
import { type PeerTimes, peerTimes } from '../../src/fleet/peers/wire-limits.ts'
import { openMasterKeys } from '../../src/foundation/sealing/master-keys.ts'
import type { ServerOptions } from '../../src/index.ts'
import { startTestServer, type TestServer } from './start-test-server.ts'
import { newOwnPeer, startListener, TestDirectory } from './test-hosts.ts'
import { newStateDir, openTestStore } from './test-store.ts'

/** A host of a fleet in this process, with a real listener for the others. */
interface TestHost extends TestServer {
  readonly own: ReturnType<typeof newOwnPeer>
  /** The owners as this host reads them, by the id of the thing. */
  readonly owners: Map<string, string>
}

/** Hosts that speak with each other over TLS. */
export interface TestFleet {
  /** The host with the runtime. */
  readonly owner: TestHost
  /** A host without it. Its service has the same projects and keys. */
  readonly entry: TestHost
  readonly hosts: readonly TestHost[]
  readonly runtimeId: string
  /** The path of the runtime in the API. */
  readonly path: string
  readonly directory: TestDirectory
  readonly authority: CertifiedKey
}

/**
 * Starts hosts that end with the test. Each has its own copy of one store, which holds a runtime.
 * The engine of the first host runs it.
 */
export async function startTestFleet({
  size = 2,
  times = {},
  options = {},
  protocols = [],
}: {
  readonly size?: number
  readonly times?: Partial<PeerTimes>
  readonly options?: Partial<ServerOptions>
  /** The versions of the protocol that each host speaks. Default: those of this service. */
  readonly protocols?: readonly ProtocolRange[]
} = {}): Promise<TestFleet> {
  const first = await startTestServer(options)
  const runtimeId = await first.makeRuntime()
  await first.close()
  const authority = await authorityOf(first.stateDir)
  const stateDirs = [first.stateDir]
  while (stateDirs.length < size) {
    const stateDir = await newStateDir()
    await cp(first.stateDir, stateDir, { recursive: true })
    stateDirs.push(stateDir)
  }
  const directory = new TestDirectory()
  const owns = stateDirs.map(() => newOwnPeer())
  const [{ hostId: ownerId } = newOwnPeer()] = owns
  const hosts: TestHost[] = []
  for (const [at, stateDir] of stateDirs.entries()) {
    const own = owns[at] ?? newOwnPeer()
    const owners = new Map([[runtimeId, ownerId]])
    const peers: FleetParts = {
      own,
      directory,
      owners: {
        find: async ({ id }) => rowOf(owners.get(id)),
        choose: async ({ id }) => rowOf(owners.get(id)),
      },
      address: { host: '127.0.0.1', port: 0 },
      times: { ...peerTimes, ...times },
      protocol: protocols[at] ?? hostProtocol,
    }
    const engine = at === 0 ? { engine: first.engine } : {}
    const server = await startTestServer({ ...options, ...engine, peers }, stateDir)
    directory.put(own.hostId, server.server.peerPort ?? 0, { protocol: peers.protocol ?? hostProtocol })
    hosts.push({ ...server, own, owners })
  }
  const [owner, entry] = hosts as [TestHost, TestHost]
  return { owner, entry, hosts, runtimeId, path: `/v1/agents/runtime/${runtimeId}`, directory, authority }
}

/** A request as an owner got it from another host. */
interface ReceivedRequest {
  /** The headers on the wire between the hosts. */
  readonly wire: IncomingHttpHeaders
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly connection: PeerConnection
}

/** Starts a host that accepts all forwarded requests and answers them as a test says. */
export async function startStubOwner(
  { authority, directory }: Pick<TestFleet, 'authority' | 'directory'>,
  listener: RequestListener,
  accept: (asked: PeerStream) => boolean = () => true,
) {
  const received: ReceivedRequest[] = []
  const server = createServer()
  const wires = new WeakMap<object, IncomingHttpHeaders>()
  server.on('request', (request, response) => {
    const { method = '', url = '', headers, socket } = request
    const connection = socket as unknown as PeerConnection
    received.push({ wire: wires.get(socket) ?? {}, method, url, headers, connection })
    listener(request, response)
  })
  const host = await startListener(authority, directory, async (asked) => {
    if (!accept(asked)) return
    asked.stream.respond({ ':status': 200 })
    const connection = new PeerConnection(asked.stream)
    wires.set(connection, asked.headers)
    server.emit('connection', connection)
  })
  onTestFinished(() => void server.close())
  return { ...host, received }
}

async function authorityOf(stateDir: string): Promise<CertifiedKey> {
  const store = await openTestStore(stateDir)
  try {
    return await openPeerAuthority(sealedPlace(store, await openMasterKeys(stateDir, { now: Date.now() })))
  } finally {
    await store.close()
  }
}

function rowOf(hostId: string | undefined) {
  return hostId === undefined ? null : { hostId, epoch: 1 }
}
