import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { BuilderError } from '../errors.ts'

/** Options for running a command. `env` is its whole environment. */
export interface ProgramOptions {
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** The timeout in milliseconds, after which the command's process group is ended. */
  readonly timeoutMs: number
}

/** The result of a finished command. Each stream has its last `KEPT_BYTES`. */
export interface ProgramResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The characters of each stream of a command that are kept. */
export const KEPT_BYTES = 256 * 1024
/**
 * The time for a command to clean up after SIGTERM, in milliseconds. mmdebstrap removes a tree of a
 * gigabyte.
 */
const GRACE_MS = 20_000

/** Collects the end of a stream, so that endless output takes bounded memory. */
function keepTail(stream: NodeJS.ReadableStream): () => string {
  let tail = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    tail = (tail + text).slice(-KEPT_BYTES)
  })
  return () => tail
}

/** Ends a process group and resolves when its leader has exited. The child must be `detached`. */
export async function endGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  signalGroup(child.pid, 'SIGTERM')
  const timer = setTimeout(() => child.pid !== undefined && signalGroup(child.pid, 'SIGKILL'), GRACE_MS)
  await exited
  clearTimeout(timer)
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // ESRCH: the group ended between the check and the signal, which is the aim.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Runs argv to its end in its own process group. Returns a non-zero code as a value. Throws
 * `tool_missing` for a missing program and `tool_failed` for a timeout.
 */
export async function runProgram(
  argv: readonly [string, ...string[]],
  options: ProgramOptions,
): Promise<ProgramResult> {
  options.signal.throwIfAborted()
  const [file, ...args] = argv
  const child = spawn(file, args, {
    cwd: '/',
    env: { ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stdout = keepTail(child.stdout)
  const stderr = keepTail(child.stderr)
  const limit = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)])
  const stop = () => void endGroup(child).catch(() => child.kill('SIGKILL'))
  limit.addEventListener('abort', stop, { once: true })
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    options.signal.throwIfAborted()
    if (limit.aborted) throw new BuilderError('tool_failed', `${file} took longer than ${options.timeoutMs / 1000} s`)
    return { code: code ?? 128, stdout: stdout(), stderr: stderr() }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new BuilderError('tool_missing', `The program ${file} is not installed.`, { cause: error })
    }
    throw error
  } finally {
    limit.removeEventListener('abort', stop)
  }
}

/**
 * Runs argv and returns its output. Throws `code` with `message`, which may depend on the output,
 * unless it exits with 0.
 */
export async function mustRun(
  argv: readonly [string, ...string[]],
  options: ProgramOptions & {
    readonly code: ConstructorParameters<typeof BuilderError>[0]
    readonly message: (output: string) => string
  },
): Promise<string> {
  const result = await runProgram(argv, options)
  if (result.code !== 0) {
    const output = result.stderr || result.stdout
    throw new BuilderError(options.code, options.message(output), { detail: lastLines(output) })
  }
  return result.stdout
}

/** Returns the last lines of a log, in which tools report failures. */
export function lastLines(text: string, count = 15): string {
  return text.trimEnd().split('\n').slice(-count).join('\n')
}
