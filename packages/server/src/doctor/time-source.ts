import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Check, ok, warn } from './check.ts'

/** A service manager that does not answer in this time is not asked further. */
const answerTimeoutMs = 2_000

/**
 * Whether the clock follows a time server, as far as somebody on this machine can tell: systemd,
 * where it is there.
 */
export async function checkTimeSource(ask: () => Promise<string> = askSystemd): Promise<readonly Check[]> {
  const answer = await ask().catch(() => '') // No systemd: nobody tells.
  if (answer.trim() === 'yes') return [ok('time source', 'the clock follows a time server')]
  if (answer.trim() !== 'no') return []
  const message = 'the clock follows no time server: deadlines and signatures are as wrong as it is'
  return [warn('time source', message, 'timedatectl set-ntp true')]
}

async function askSystemd(): Promise<string> {
  // Nothing of what the service was started with but where programs are.
  const env = { PATH: process.env.PATH }
  const show = ['show', '--property', 'NTPSynchronized', '--value']
  return (await promisify(execFile)('timedatectl', show, { cwd: '/', env, timeout: answerTimeoutMs })).stdout
}
