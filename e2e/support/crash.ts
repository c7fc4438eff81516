import { call } from './api.ts'
import { service } from './facts.ts'
import { closeConnections } from './http.ts'
import { ownLane } from './lane.ts'
import { findService, isRunning, type Settings, serviceLog, startService, stopService } from './service-process.ts'
import { until } from './until.ts'

/** Kills the daemon in the middle of whatever it does. */
export async function crash(): Promise<void> {
  await stopService('SIGKILL')
  closeConnections()
}

/**
 * Starts the next daemon on the same port, where none runs, and waits until it is ready. Throws
 * with the end of the log if the daemon exits or takes too long.
 */
export async function restart(settings: Settings = {}): Promise<void> {
  const pid = findService() ?? (await startService(service.port, settings))
  const isReady = async () => {
    // A second daemon exits at once, and the first one becomes ready.
    if (!isRunning(pid) && findService() === null) throw new Error('holtd has exited')
    const answer = await call('GET', '/readyz', { key: null, timeoutMs: 5_000 }).catch(() => null) // Not listening yet.
    return answer?.status === 200
  }
  await until('holtd is ready again', isReady, 60_000).catch((cause: unknown) => {
    throw new Error(`holtd does not become ready again; its log ends:\n${serviceLog(ownLane)}`, { cause })
  })
}

/** Stops the daemon in order and starts the next one with other settings. */
export async function restartWith(settings: Settings): Promise<void> {
  await stopService()
  closeConnections()
  await restart(settings)
}
