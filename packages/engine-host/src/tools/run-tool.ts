import { spawn } from 'node:child_process'
import { EngineError } from '@holt/engine'
import { Launcher } from './launcher.ts'

/** How a tool of the host is run. */
export interface ToolOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /**
   * With `discard` the tool's output goes to /dev/null: what outlives the tool and inherits a pipe
   * would hold it open for ever.
   */
  readonly output?: 'capture' | 'discard'
}

/** How a tool ended. Exactly one of `code` and `killedBy` is set. */
export interface ToolResult {
  readonly code: number | null
  readonly killedBy: string | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * More output than this is cut: tools of the host say little, and nobody bounds what a broken one
 * says.
 */
const OUTPUT_MAX_BYTES = 1 << 20

/** The environment of every tool: nothing of the daemon's own leaks into it. */
export const TOOL_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** What starts tools for every engine of this process, and how many there are. */
let shared: { readonly launcher: Launcher; users: number } | null = null

/**
 * Has tools started by way of a small process, `binary` being the guest's program, until what is
 * answered is called.
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
 * it has ended, however it ended; rejects when it cannot be started, takes longer than `timeoutMs`,
 * or the signal ends it (it is killed then).
 */
export function runTool(argv: readonly string[], options: ToolOptions): Promise<ToolResult> {
  options.signal?.throwIfAborted()
  // One that was lost is not missed but for the time it saved.
  const { ended, kill } = shared?.launcher.works ? launch(shared.launcher, argv, options) : start(argv, options)
  return bounded(argv, options, { ended, kill })
}

/** A tool at work. */
interface Running {
  readonly ended: Promise<ToolResult>
  readonly kill: () => void
}

function launch(launcher: Launcher, argv: readonly string[], { output }: ToolOptions): Running {
  const { ended, kill } = launcher.launch(argv, { capture: output !== 'discard' })
  const result = async (): Promise<ToolResult> => {
    const { code, signal, error, stdout, stderr } = await ended.catch((cause: unknown) => {
      throw new EngineError('failed', `nobody knows how ${argv[0]} ended`, { cause })
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

/**
 * Kills a tool that takes too long or that nobody waits for any more, and rejects when it has
 * ended.
 */
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
 * Like `runTool`, but an exit code other than 0 rejects with kind `failed` (`no_space` where the
 * tool says so) and the tool's own words.
 */
export async function mustRun(argv: readonly string[], options: ToolOptions): Promise<ToolResult> {
  const result = await runTool(argv, options)
  if (result.code === 0) return result
  const words = (result.stderr || result.stdout).trim().slice(-2_000)
  const kind = /no space left on device/i.test(words) ? 'no_space' : 'failed'
  throw new EngineError(kind, `${argv.join(' ')}: exit ${result.code ?? result.killedBy}: ${words}`)
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
