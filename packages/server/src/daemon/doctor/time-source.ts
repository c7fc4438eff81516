import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Check, ok, warn } from './check.ts'

/** The time for the service manager to answer, in milliseconds. */
const answerTimeoutMs = 2_000

/**
 * Checks that the clock follows a time server. Only systemd can tell; without it, there is no
 * result.
 */
export async function checkTimeSource(ask: () => Promise<string> = askSystemd): Promise<readonly Check[]> {
  const answer = await ask().catch(() => '') // There is no systemd.
  if (answer.trim() === 'yes') return [ok('time source', 'the clock follows a time server')]
  if (answer.trim() !== 'no') return []
  const message = 'the clock follows no time server, so deadlines and signatures may be wrong'
  return [warn('time source', message, 'timedatectl set-ntp true')]
}

async function askSystemd(): Promise<string> {
  // The command gets nothing of the service's environment except the path of programs.
  const env = { PATH: process.env.PATH }
  const show = ['show', '--property', 'NTPSynchronized', '--value']
  return (await promisify(execFile)('timedatectl', show, { cwd: '/', env, timeout: answerTimeoutMs })).stdout
}
