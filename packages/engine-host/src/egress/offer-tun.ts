import { type ChildProcess, spawn } from 'node:child_process'
import { chown, rm } from 'node:fs/promises'
import { EngineError } from '@holt/engine'
import type { ProcessId } from '../tools/process-table.ts'
import { TOOL_ENV } from '../tools/run-tool.ts'

/**
 * The network of every runtime that has one. Its gateway is the egress socket, so all runtimes use
 * the same addresses.
 */
const TUN = { name: 'tun0', address: '198.18.0.2', mtu: 65_000 } as const

/**
 * The time in which the program has to listen, in milliseconds. Making a device takes milliseconds.
 */
const READY_TIMEOUT_MS = 10_000

/**
 * The time for which the program waits for the guest to fetch the descriptor, in milliseconds. It
 * then ends by itself, with or without this process.
 */
const FETCH_TIMEOUT_MS = 10_000

/** The maximum number of characters kept of a failed program's output. */
const OUTPUT_MAX = 2_000

/** The runtime that gets a tun device. */
export interface TunReceiver {
  /** The path of the guest's binary on the host. */
  readonly guest: string
  /** A process in the runtime's network namespace. */
  readonly process: ProcessId
  /** The path of the socket at which the guest fetches the device. */
  readonly socket: string
  /** The host's id of the user who fetches it. */
  readonly owner: number
}

/** A tun device that is offered to the guest. */
export interface TunOffer {
  /** Withdraws the offer if it has not been fetched. */
  end(): Promise<void>
}

/**
 * Makes a tun device in a runtime's network namespace and offers its descriptor once at `tun.sock`.
 * The guest's binary does it on the host: root in a container has no CAP_NET_ADMIN and gets none.
 * Resolves when the program listens.
 */
export async function offerTun({ guest, process, socket, owner }: TunReceiver, signal: AbortSignal): Promise<TunOffer> {
  await rm(socket, { force: true })
  const argv = [
    'tun',
    `--socket=${socket}`,
    `--pid=${process.pid}`,
    `--start-ticks=${process.startTicks}`,
    `--name=${TUN.name}`,
    `--address=${TUN.address}`,
    `--mtu=${TUN.mtu}`,
    `--timeout-ms=${FETCH_TIMEOUT_MS}`,
  ]
  const child = spawn(guest, argv, {
    cwd: '/',
    env: TOOL_ENV,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const end = async () => {
    child.kill('SIGKILL')
    await exited
    await rm(socket, { force: true })
  }
  try {
    await listening(child, AbortSignal.any([signal, AbortSignal.timeout(READY_TIMEOUT_MS)]))
    await chown(socket, owner, owner)
    return { end }
  } catch (error) {
    await end()
    signal.throwIfAborted()
    throw error
  }
}

/**
 * Resolves when the program prints `ready`, which it does once. Rejects with the program's own
 * message if it ends before that.
 */
function listening(child: ChildProcess, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    child.stderr?.on('data', (part: Buffer) => {
      output = `${output}${part.toString()}`.slice(0, OUTPUT_MAX)
    })
    child.stdout?.once('data', () => resolve())
    child.once('error', (cause) => reject(new EngineError('failed', 'cannot start holt-guest tun', { cause })))
    child.once('close', (code) =>
      reject(new EngineError('failed', `holt-guest tun ended with ${code}: ${output.trim()}`)),
    )
    signal.addEventListener('abort', () => reject(new EngineError('failed', 'holt-guest tun does not answer')), {
      once: true,
    })
  })
}
