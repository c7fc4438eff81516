import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Log } from '../service.ts'

/** The manager is on this machine, and answers at once. */
const tellTimeoutMs = 5_000

/** Tells a service manager what the service is about to be; nothing where none has started it. */
export type TellManager = (state: 'READY=1' | 'STOPPING=1') => Promise<void>

/**
 * Finds the service manager that has started this process by the protocol of sd_notify(3). Node has
 * no datagram sockets of the kind that it speaks, so its own program does. What is started from
 * here on, runtimes among it, does not come to know the manager.
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
      // It will find that out by itself, and start the service anew.
      log.error({ err, state }, 'the service manager could not be told')
    }
  }
}
