import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import packet, { type Answer, type DecodedPacket } from 'dns-packet'

/** The records of a name. A function is called for each query, so that answers may change. */
export interface ZoneEntry {
  readonly A?: readonly string[] | (() => readonly string[])
  readonly AAAA?: readonly string[]
  readonly CNAME?: string
  readonly ttlSecs?: number
}

/** The faults of a server. */
interface DnsQuirks {
  /** UDP answers say that they are cut off. */
  readonly truncates?: boolean
  /** Sends these before the answer. */
  readonly strays?: (query: Buffer, answer: Buffer) => readonly Buffer[]
  /** Answers with this code and nothing else. */
  readonly code?: number
  /** Does not answer at all. */
  readonly isSilent?: boolean
  /** Answers over TCP instead. It gets the answer with its length in front. */
  readonly overTcp?: (socket: Socket, answer: Buffer) => void
  /** Changes the answer's bytes. */
  readonly rewrite?: (answer: Buffer) => Buffer
}

/**
 * An authoritative DNS server for tests, over UDP and TCP on one port, that remembers what it was
 * asked.
 */
export interface TestDnsServer extends AsyncDisposable {
  readonly address: string
  /** `type name`, in the order of arrival, with TCP ones as `tcp type name`. */
  readonly queries: string[]
  zone: Record<string, ZoneEntry>
  quirks: DnsQuirks
}

const bindTries = 20

/**
 * Listens over TCP and UDP on one port. A port that the kernel gives to one may be taken for the
 * other.
 */
async function bindBoth(host: string, wantedPort: number): Promise<{ tcp: Server; udp: UdpSocket; port: number }> {
  for (let tried = 1; ; tried += 1) {
    const tcp = createServer().listen(wantedPort, host)
    await once(tcp, 'listening')
    const { port } = tcp.address() as AddressInfo
    const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    try {
      udp.bind(port, host)
      await once(udp, 'listening')
      return { tcp, udp, port }
    } catch (error) {
      tcp.close()
      udp.close()
      if (wantedPort !== 0 || tried === bindTries) throw error
    }
  }
}

/** Starts one on an address of loopback, at a free port unless one is given. */
export async function startDnsServer(
  zone: Record<string, ZoneEntry>,
  host = '127.0.0.1',
  wantedPort = 0,
): Promise<TestDnsServer> {
  const { tcp, udp, port } = await bindBoth(host, wantedPort)
  const server: TestDnsServer = {
    address: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
    queries: [],
    zone,
    quirks: {},
    async [Symbol.asyncDispose]() {
      udp.close()
      tcp.close()
      await once(tcp, 'close')
    },
  }
  udp.on('message', (message, from) => {
    const query = decode(message)
    if (query === null) return
    note(server, query, '')
    if (server.quirks.isSilent === true) return
    const answer = answerOf(server, query, server.quirks.truncates === true)
    for (const stray of server.quirks.strays?.(message, answer) ?? []) udp.send(stray, from.port, from.address)
    udp.send(answer, from.port, from.address)
  })
  tcp.on('connection', (socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (bytes) => {
      const query = decode(bytes.subarray(2))
      if (query === null) {
        socket.destroy()
        return
      }
      note(server, query, 'tcp ')
      const answer = answerOf(server, query, false)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(answer.length)
      if (server.quirks.overTcp !== undefined) {
        server.quirks.overTcp(socket, Buffer.concat([length, answer]))
        return
      }
      // In two pieces: a stream has no messages.
      socket.write(Buffer.concat([length, answer.subarray(0, 5)]))
      setImmediate(() => socket.end(answer.subarray(5)))
    })
  })
  return server
}

/** A query with a question; null for anything else, which must not end the server. */
function decode(bytes: Buffer): DecodedPacket | null {
  try {
    const query = packet.decode(bytes)
    return query.questions?.[0] === undefined ? null : query
  } catch {
    return null
  }
}

function note(server: TestDnsServer, query: DecodedPacket, prefix: string): void {
  for (const { type, name } of query.questions ?? []) server.queries.push(`${prefix}${type} ${name.toLowerCase()}`)
}

function answerOf(server: TestDnsServer, query: DecodedPacket, isTruncated: boolean): Buffer {
  const [question] = query.questions ?? []
  if (question === undefined) throw new Error('a query without a question')
  const name = question.name.toLowerCase()
  const answers = isTruncated ? [] : recordsOf(server.zone, name, question.type)
  const exists = server.zone[name] !== undefined
  const code = server.quirks.code ?? (exists ? 0 : 3)
  const encoded = packet.encode({
    type: 'response',
    ...(query.id === undefined ? {} : { id: query.id }),
    flags: packet.AUTHORITATIVE_ANSWER | (isTruncated ? packet.TRUNCATED_RESPONSE : 0) | code,
    questions: [question],
    answers: server.quirks.code === undefined ? answers : [],
  })
  return server.quirks.rewrite?.(encoded) ?? encoded
}

/** The records of a name, through aliases inside the zone. */
function recordsOf(zone: Record<string, ZoneEntry>, name: string, type: string, depth = 0): Answer[] {
  const entry = zone[name]
  if (entry === undefined || depth > 30) return []
  const ttl = entry.ttlSecs ?? 60
  if (entry.CNAME !== undefined)
    return [
      { type: 'CNAME', name, ttl, data: entry.CNAME },
      ...recordsOf(zone, entry.CNAME.toLowerCase(), type, depth + 1),
    ]
  if (type === 'A') {
    const addresses = typeof entry.A === 'function' ? entry.A() : (entry.A ?? [])
    return addresses.map((data) => ({ type: 'A', name, ttl, data }))
  }
  return type === 'AAAA' ? (entry.AAAA ?? []).map((data) => ({ type: 'AAAA', name, ttl, data })) : []
}
