import type { Log } from '../service.ts'

/**
 * Ends the process at what nobody expected, with the reason in the log: nobody knows what was left
 * half done, and the next start finishes it or takes it back. That start is systemd's to make, or
 * somebody's `holt up`. Runtimes go on meanwhile.
 */
export function endAtSurprise(log: Log): void {
  const end = (error: unknown, message: string) => {
    log.error({ err: error }, message)
    process.exit(1)
  }
  process.on('uncaughtException', (error) => end(error, 'an exception that nobody caught'))
  process.on('unhandledRejection', (error) => end(error, 'a rejection that nobody handled'))
}
