import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http'
import type { Duplex } from 'node:stream'
import { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { RuntimeLink } from '../../runtimes/links/runtime-link.ts'
import { connectPort } from '../ports/connect-port.ts'
import { interpreterMissing } from './bridge-errors.ts'

/**
 * The port of the bridge, the program in a runtime that passes requests on to the kernels of
 * languages.
 */
export const bridgePort = 49_999

/** The time for which a connection waits for its next request, in milliseconds. */
const idleMs = 30_000

/**
 * The maximum number of connections of one runtime that wait. Runs of one program come one after
 * the other.
 */
const idleMax = 2

/** The connections to the bridges of all runtimes. Those of a link go with it. */
export class BridgeAgents {
  readonly #agents = new WeakMap<RuntimeLink, BridgeConnections>()

  /** Returns the connections to the bridge of a runtime. */
  of(link: RuntimeLink): Agent {
    const agent = this.#agents.get(link) ?? new BridgeConnections(link)
    this.#agents.set(link, agent)
    return agent
  }
}

/**
 * The connections to the bridge of one runtime, over its guest. A waiting connection does not count
 * as a use of the runtime, and breaks at a checkpoint. Connections of runtimes are never mixed.
 */
class BridgeConnections extends Agent {
  readonly #link: RuntimeLink
  readonly #idle = new Map<Duplex, NodeJS.Timeout>()

  constructor(link: RuntimeLink) {
    super({ keepAlive: true, maxFreeSockets: idleMax, scheduling: 'lifo' })
    this.#link = link
  }

  /** Opens a connection. Fails with `code_interpreter_missing` if nothing listens. */
  override createConnection(
    _options: ClientRequestArgs,
    done?: (error: Error | null, connection: Duplex) => void,
  ): undefined {
    const failed = (error: unknown) => done?.(asError(error), undefined as never)
    this.#connect().then((connection) => done?.(null, connection), failed)
  }

  override keepSocketAlive(connection: Duplex): boolean {
    if (!connection.writable || !connection.readable) return false
    const timer = setTimeout(() => connection.destroy(), idleMs).unref()
    this.#idle.set(connection, timer)
    return true
  }

  override reuseSocket(connection: Duplex, request: ClientRequest): void {
    this.#forget(connection)
    super.reuseSocket(connection, request)
  }

  async #connect(): Promise<Duplex> {
    // Node asks a connection that is used again to keep the process alive.
    const connection = Object.assign(await openConnection(this.#link), { ref: () => undefined })
    // A bridge that ends its side has no further answer.
    connection.once('end', () => connection.end())
    connection.once('close', () => this.#forget(connection))
    return connection
  }

  #forget(connection: Duplex): void {
    clearTimeout(this.#idle.get(connection))
    this.#idle.delete(connection)
  }
}

async function openConnection(link: RuntimeLink): Promise<Duplex> {
  try {
    return await connectPort(new GuestClient(link), bridgePort, { signal: new AbortController().signal, idles: true })
  } catch (error) {
    throw error instanceof HoltError && error.code === 'port_not_listening' ? interpreterMissing() : error
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
