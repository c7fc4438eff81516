import { HoltApiError, HoltError } from '@holt/sdk'
import { connect } from '../connection/connect.ts'
import { ourCommand } from '../shell/our-command.ts'
import { shellWord } from '../shell/shell-word.ts'
import { defaultStateDir, findDaemon, stateDir } from './state.ts'

const lastPort = 65_535

/**
 * Returns the address of a service of another state directory that has refused a request; null if
 * the error has another reason. No service runs over this state directory then, and another one has
 * the port. An address or key of the environment is the caller's own choice.
 */
export async function foreignAddress(error: unknown): Promise<string | null> {
  const isRefused = error instanceof HoltApiError && error.code === 'unauthenticated'
  if (!isRefused || process.env.HOLT_URL || process.env.HOLT_API_KEY) return null
  return (await findDaemon()) === null ? connect().url : null
}

/** Returns the error to report instead, if a service of another state directory has refused. */
export async function explainForeign(error: unknown): Promise<unknown> {
  const url = await foreignAddress(error)
  if (url === null) return error
  return new HoltError('unauthenticated', `${foreignFact(url)}.`, { hint: foreignHint(url), cause: error })
}

/** Says that the service at an address is not the one of this state directory. */
export function foreignFact(url: string): string {
  return `The service that answers at ${url} seems to belong to another state directory, and none runs over ${stateDir()}`
}

/** Says how to start a service beside the one at an address, and how to use that one. */
export function foreignHint(url: string): string {
  const { port, protocol } = new URL(url)
  const taken = Number(port || (protocol === 'https:' ? 443 : 80))
  const other = taken < lastPort ? taken + 1 : taken - 1
  const place = stateDir() === defaultStateDir ? '' : ` --state-dir ${shellWord(stateDir())}`
  const unit = `with systemd: HOLT_PORT=${other} in /etc/holt/holtd.env`
  return `Start one here on another port: ${ourCommand()} up${place} --port ${other} (${unit}). To use the other service, set HOLT_STATE_DIR to its directory, or HOLT_URL and HOLT_API_KEY.`
}
