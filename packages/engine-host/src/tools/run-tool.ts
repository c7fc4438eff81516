import { spawn } from 'node:child_process'
import { EngineError } from '@holt/engine'
import { Launcher } from './launcher.ts'

/** The options of a tool of the host. */
export interface ToolOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /**
   * With `discard` the tool's output goes to /dev/null. A process that outlives the tool and
   * inherits a pipe would hold it open forever.
   */
  readonly output?: 'capture' | 'discard'
}

/** The end of a tool. Exactly one of `code` and `killedBy` is set. */
export interface ToolResult {
  readonly code: number | null
  readonly killedBy: string | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * The maximum number of bytes of output that are kept. Tools of the host print little, but the
 * output of a broken one is unbounded.
 */
const OUTPUT_MAX_BYTES = 1 << 20

/** The environment of every tool. The daemon's own environment does not leak into it. */
export const TOOL_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** The launcher of tools for every engine of this process, and the number of those engines. */
let shared: { readonly launcher: Launcher; users: number } | null = null

/**
 * Starts tools through a small process from now on, until the returned function is called. `binary`
 * is the guest's program.
 */
export function shareLauncher(binary: string): () => void {
  shared ??= { launcher: new Launcher(binary, TOOL_ENV), users: 0 }
  const mine = shared
  mine.users += 1
  return () => {
    mine.users -= 1
    if (mine.users > 0) return
    mine.launcher.close()
    if (shared === mine) shared = null
  }
}

/**
 * Runs a program by argument vector, never through a shell, in a session of its own. Resolves when
 * it has ended in any way. Rejects if it cannot be started. Kills it and rejects if it takes longer
 * than `timeoutMs` or the signal aborts.
 */
export function runTool(argv: readonly string[], options: ToolOptions): Promise<ToolResult> {
  options.signal?.throwIfAborted()
  // A lost launcher only costs time.
  const { ended, kill } = shared?.launcher.works ? launch(shared.launcher, argv, options) : start(argv, options)
  return bounded(argv, options, { ended, kill })
}

/** A tool that runs. */
interface Running {
  readonly ended: Promise<ToolResult>
  readonly kill: () => void
}

function launch(launcher: Launcher, argv: readonly string[], { output }: ToolOptions): Running {
  const { ended, kill } = launcher.launch(argv, { capture: output !== 'discard' })
  const result = async (): Promise<ToolResult> => {
    const { code, signal, error, stdout, stderr } = await ended.catch((cause: unknown) => {
      throw new EngineError('failed', `the end of ${argv[0]} is unknown`, { cause })
    })
    if (error !== '') throw cannotStart(argv, new Error(error))
    const text = (base64: string | null) => Buffer.from(base64 ?? '', 'base64').toString('utf8')
    return { code, killedBy: signal === '' ? null : signal, stdout: text(stdout), stderr: text(stderr) }
  }
  return { ended: result(), kill }
}

function start(argv: readonly string[], { output }: ToolOptions): Running {
  const [program = '', ...args] = argv
  const capture = output !== 'discard'
  const stream = capture ? 'pipe' : 'ignore'
  const child = spawn(program, args, { cwd: '/', env: TOOL_ENV, detached: true, stdio: ['ignore', stream, stream] })
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  const ended = new Promise<ToolResult>((resolve, reject) => {
    child.on('error', (cause) => reject(cannotStart(argv, cause)))
    child.on(capture ? 'close' : 'exit', (code: number | null, killedBy: string | null) =>
      resolve({ code, killedBy, stdout: stdout(), stderr: stderr() }),
    )
  })
  return { ended, kill: () => child.kill('SIGKILL') }
}

/** Kills a tool that takes too long or whose caller has aborted. Rejects when it has ended. */
async function bounded(
  argv: readonly string[],
  { timeoutMs, signal }: ToolOptions,
  { ended, kill }: Running,
): Promise<ToolResult> {
  let failure: unknown = null
  const abort = () => {
    failure = signal?.reason
    kill()
  }
  const timer = setTimeout(() => {
    failure = new EngineError('failed', `${argv.slice(0, 2).join(' ')} took longer than ${timeoutMs} ms`)
    kill()
  }, timeoutMs)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const result = await ended
    if (failure !== null) throw failure
    return result
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function cannotStart(argv: readonly string[], cause: unknown): EngineError {
  return new EngineError('failed', `cannot start ${argv[0]}`, { cause })
}

/**
 * Does the same as `runTool`, but rejects with the tool's message if the exit code is not 0. The
 * kind is `failed`, or `no_space` if the tool reports that.
 */
export async function mustRun(argv: readonly string[], options: ToolOptions): Promise<ToolResult> {
  const result = await runTool(argv, options)
  if (result.code === 0) return result
  const output = (result.stderr || result.stdout).trim().slice(-2_000)
  const kind = /no space left on device/i.test(output) ? 'no_space' : 'failed'
  throw new EngineError(kind, `${argv.join(' ')}: exit ${result.code ?? result.killedBy}: ${output}`)
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const parts: Buffer[] = []
  let size = 0
  stream?.on('data', (part: Buffer) => {
    if (size < OUTPUT_MAX_BYTES) parts.push(part.subarray(0, OUTPUT_MAX_BYTES - size))
    size += part.length
  })
  return () => Buffer.concat(parts).toString('utf8')
}
