import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { service } from './facts.ts'
import { repository } from './service-process.ts'

/** How a run of the CLI ended. */
export interface CliResult {
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: string
}

/** How a run of the CLI is made. */
export interface CliOptions {
  readonly stdin?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  /** Close our end of its stdout after so many bytes, as `head` does. */
  readonly readBytes?: number
  /** Default a minute, which is much longer than most take. */
  readonly timeoutMs?: number
}

/** Much longer than any of them takes. */
const TIMEOUT_MS = 60_000

/**
 * Runs `holt` as a user would from a script: piped, in another directory, with the address and key
 * in the environment.
 */
export async function holt(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const child = holtProcess(args, options)
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  let read = 0
  child.stdout.on('data', (chunk: Buffer) => {
    stdout.push(chunk)
    read += chunk.length
    if (options.readBytes !== undefined && read >= options.readBytes) child.stdout.destroy()
  })
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
  child.stdin.on('error', () => undefined) // It need not read what it is given.
  child.stdin.end(options.stdin)
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  return { code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() }
}

/** Starts `holt` and leaves it to the caller. */
export function holtProcess(
  args: readonly string[],
  { env, timeoutMs = TIMEOUT_MS }: Pick<CliOptions, 'env' | 'timeoutMs'> = {},
): ChildProcessWithoutNullStreams {
  return spawn(join(repository, 'packages', 'cli', 'bin', 'holt'), args, {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    env: { PATH: process.env.PATH, HOME: '/root', HOLT_URL: service.url, HOLT_API_KEY: service.key, ...env },
  })
}
