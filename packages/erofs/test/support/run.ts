import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execFileAsync = promisify(execFile)

/** Long enough for the slowest oracle on a busy machine. */
const TIMEOUT_MS = 60_000

/** Runs an oracle and answers its output; throws with its stderr when it fails. */
export async function run(command: string, args: readonly string[], cwd = '/'): Promise<string> {
  const options = { cwd, timeout: TIMEOUT_MS, maxBuffer: 1 << 28, encoding: 'latin1' } as const
  const { stdout } = await execFileAsync(command, args, options)
  return stdout
}
