/** The parts of a ClientHello that the gateway reads. */
export interface ClientHello {
  readonly type: 'hello'
  /** The server name as sent. Null if there is none. */
  readonly serverName: string | null
  /** ALPN protocols in the client's order. */
  readonly protocols: readonly string[]
  /**
   * True if there is an encrypted client hello, or noise of that form: clients without a key send
   * it (RFC 9849, GREASE).
   */
  readonly hasEncryptedHello: boolean
}

/** The result of reading the first bytes. */
export type ReadHello =
  | ClientHello
  /** The bytes are too few. `needed` is the number that the next attempt needs. */
  | { readonly type: 'incomplete'; readonly needed: number }
  | { readonly type: 'invalid'; readonly why: string }

/**
 * The first byte of a TLS record with a handshake message. It is no letter, so no request of a text
 * protocol begins with it.
 */
export const handshakeRecord = 22

/**
 * The maximum number of bytes of a ClientHello, those of one record. A ClientHello with
 * post-quantum keys and a ticket has some 2 KiB.
 */
export const maxHelloBytes = 16 * 1024

const recordHeader = 5
const messageHeader = 4
const clientHello = 1
const extension = { serverName: 0, protocols: 16, encryptedHello: 0xfe0d } as const

/**
 * Reads a ClientHello (RFC 8446, 4.1.2 and 5.1; RFC 6066, 3) from the first bytes of a connection,
 * in any fragmentation into records. Every length must fit, and nothing may occur twice. Ambiguous
 * bytes are invalid.
 */
export function readClientHello(bytes: Buffer): ReadHello {
  const message = joinRecords(bytes)
  if (!Buffer.isBuffer(message)) return message
  try {
    return readMessage(new Reader(message))
  } catch (error) {
    if (error instanceof Malformed) return invalid(error.message)
    throw error
  }
}

/** Returns the bytes of the handshake message, without the records around them. */
function joinRecords(bytes: Buffer): Buffer | Exclude<ReadHello, ClientHello> {
  const fragments: Buffer[] = []
  let joined = 0
  for (let offset = 0; ; ) {
    if (bytes.length < offset + recordHeader) return incomplete(offset + recordHeader)
    if (bytes[offset] !== handshakeRecord) return invalid('not a handshake record')
    if (bytes[offset + 1] !== 3) return invalid('record version')
    const length = bytes.readUInt16BE(offset + 3)
    if (length === 0 || length > maxHelloBytes) return invalid('record length')
    const end = offset + recordHeader + length
    if (bytes.length < end) return incomplete(end)
    fragments.push(bytes.subarray(offset + recordHeader, end))
    joined += length
    offset = end
    if (joined < messageHeader) continue
    const message = Buffer.concat(fragments)
    if (message[0] !== clientHello) return invalid('not a ClientHello')
    const needed = messageHeader + message.readUIntBE(1, 3)
    if (needed > maxHelloBytes) return invalid('too long')
    // No bytes may follow before the server's answer.
    if (joined > needed) return invalid('bytes after the ClientHello')
    if (joined === needed) return message.subarray(messageHeader)
  }
}

function incomplete(needed: number): ReadHello & { type: 'incomplete' | 'invalid' } {
  // Many records of a few bytes each would make a small message long.
  return needed > 2 * maxHelloBytes ? invalid('too long') : { type: 'incomplete', needed }
}

function invalid(why: string) {
  return { type: 'invalid', why } as const
}

function readMessage(hello: Reader): ClientHello {
  hello.take(2 + 32)
  if (hello.vector(1).length > 32) throw new Malformed('session id')
  const suites = hello.vector(2)
  if (suites.length < 2 || suites.length % 2 !== 0) throw new Malformed('cipher suites')
  if (hello.vector(1).length < 1) throw new Malformed('compression methods')
  const extensions = hello.isAtEnd ? new Map<number, Buffer>() : readExtensions(new Reader(hello.vector(2)))
  if (!hello.isAtEnd) throw new Malformed('bytes after the extensions')
  const name = extensions.get(extension.serverName)
  const protocols = extensions.get(extension.protocols)
  return {
    type: 'hello',
    serverName: name === undefined ? null : readServerName(new Reader(name)),
    protocols: protocols === undefined ? [] : readProtocols(new Reader(protocols)),
    hasEncryptedHello: extensions.has(extension.encryptedHello),
  }
}

function readExtensions(list: Reader): Map<number, Buffer> {
  const extensions = new Map<number, Buffer>()
  while (!list.isAtEnd) {
    const type = list.take(2).readUInt16BE()
    if (extensions.has(type)) throw new Malformed('the same extension twice')
    extensions.set(type, list.vector(2))
  }
  return extensions
}

/** Reads one name, of the only type that exists. */
function readServerName(extensionData: Reader): string {
  const list = new Reader(extensionData.vector(2))
  if (!extensionData.isAtEnd) throw new Malformed('server name')
  if (list.take(1)[0] !== 0) throw new Malformed('type of server name')
  const name = list.vector(2)
  if (name.length === 0 || !list.isAtEnd) throw new Malformed('not one server name')
  return name.toString('latin1')
}

function readProtocols(extensionData: Reader): string[] {
  const list = new Reader(extensionData.vector(2))
  if (!extensionData.isAtEnd) throw new Malformed('protocols')
  const protocols: string[] = []
  while (!list.isAtEnd) protocols.push(list.vector(1).toString('latin1'))
  return protocols
}

class Malformed extends Error {}

/** Reads fields from the front, and never past the end. */
class Reader {
  readonly #bytes: Buffer
  #offset = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#bytes.length
  }

  take(length: number): Buffer {
    const end = this.#offset + length
    if (end > this.#bytes.length) throw new Malformed('cut off')
    const taken = this.#bytes.subarray(this.#offset, end)
    this.#offset = end
    return taken
  }

  /** Returns the bytes after their length, which has 1 or 2 bytes itself. */
  vector(lengthBytes: 1 | 2): Buffer {
    return this.take(this.take(lengthBytes).readUIntBE(0, lengthBytes))
  }
}
