import { call } from './api.ts'
import { service } from './facts.ts'
import { closeConnections } from './http.ts'
import { findService, type Settings, startService, stopService } from './service-process.ts'
import { until } from './until.ts'

/** Kills the daemon in the middle of whatever it does. */
export async function crash(): Promise<void> {
  await stopService('SIGKILL')
  closeConnections()
}

/** Starts the next daemon on the same port, where none runs, and waits until it is ready. */
export async function restart(settings: Settings = {}): Promise<void> {
  if (findService() === null) await startService(service.port, settings)
  await until(
    'holtd is ready again',
    async () => {
      const answer = await call('GET', '/readyz', { key: null, timeoutMs: 5_000 }).catch(() => null) // Not listening yet.
      return answer?.status === 200
    },
    60_000,
  )
}

/** Stops the daemon in order and starts the next one with other settings. */
export async function restartWith(settings: Settings): Promise<void> {
  await stopService()
  closeConnections()
  await restart(settings)
}
