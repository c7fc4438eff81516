import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Log } from '../foundation/log.ts'

/** The time limit for the local service manager, which answers at once, in milliseconds. */
const tellTimeoutMs = 5_000

/** Reports a state of the service to its service manager. Does nothing if there is none. */
export type TellManager = (state: 'READY=1' | 'STOPPING=1') => Promise<void>

/**
 * Finds the service manager that has started this process by the protocol of sd_notify(3). Node
 * lacks Unix datagram sockets, so systemd's own program sends the message. Processes that start
 * later, such as runtimes, do not learn the manager's socket.
 */
export function findManager(env: NodeJS.ProcessEnv, log: Log): TellManager {
  const { NOTIFY_SOCKET: socket, PATH } = env
  if (socket === undefined || socket === '') return async () => {}
  delete env.NOTIFY_SOCKET
  return async (state) => {
    try {
      const own = { cwd: '/', env: { PATH, NOTIFY_SOCKET: socket }, timeout: tellTimeoutMs }
      await promisify(execFile)('systemd-notify', [`--pid=${process.pid}`, state], own)
    } catch (err) {
      // The manager detects that by itself, and restarts the service.
      log.error({ err, state }, 'the service manager could not be notified')
    }
  }
}
