import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The timeout of a step, in milliseconds. The longest step compiles the guest without a cache. */
const stepMs = 900_000

interface RunOptions {
  readonly cwd?: string
  /** Variables in addition to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Runs a program of a release step, and returns its output. Throws with its error output if it
 * fails.
 */
export async function run(argv: readonly [string, ...string[]], { cwd, env = {} }: RunOptions = {}): Promise<string> {
  const [program, ...args] = argv
  const { stdout } = await promisify(execFile)(program, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, LC_ALL: 'C', ...env },
    timeout: stepMs,
    maxBuffer: 64 * 2 ** 20,
  })
  return stdout
}
