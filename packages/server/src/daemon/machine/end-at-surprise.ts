import type { Log } from '../../foundation/log.ts'

/**
 * Ends the process on an unexpected error, and logs the reason. The state of unfinished work is
 * unknown, and the next start completes or reverts it. systemd or `holt up` starts the service
 * again. Runtimes continue meanwhile.
 */
export function endAtSurprise(log: Log): void {
  const end = (error: unknown, message: string) => {
    log.error({ err: error }, message)
    process.exit(1)
  }
  process.on('uncaughtException', (error) => end(error, 'an uncaught exception'))
  process.on('unhandledRejection', (error) => end(error, 'an unhandled rejection'))
}
