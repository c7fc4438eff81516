import { spawn } from 'node:child_process'
import { EngineError } from '@holt/engine'

/** How a tool of the host is run. */
export interface ToolOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** With `discard` the tool's output goes to /dev/null: what outlives the tool and inherits a pipe would hold it open for ever. */
  readonly output?: 'capture' | 'discard'
}

/** How a tool ended. Exactly one of `code` and `killedBy` is set. */
export interface ToolResult {
  readonly code: number | null
  readonly killedBy: string | null
  readonly stdout: string
  readonly stderr: string
}

/** More output than this is cut: tools of the host say little, and nobody bounds what a broken one says. */
const OUTPUT_MAX_BYTES = 1 << 20

/** The environment of every tool: nothing of the daemon's own leaks into it. */
export const TOOL_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/**
 * Runs a program by argument vector, never through a shell, in a session of its own. Resolves when it has ended, however it
 * ended; rejects when it cannot be started, takes longer than `timeoutMs`, or the signal ends it (it is killed then).
 */
export function runTool(argv: readonly string[], options: ToolOptions): Promise<ToolResult> {
  const [program = '', ...args] = argv
  options.signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const capture = options.output !== 'discard'
    const child = spawn(program, args, {
      cwd: '/',
      env: TOOL_ENV,
      detached: true,
      stdio: ['ignore', capture ? 'pipe' : 'ignore', capture ? 'pipe' : 'ignore'],
    })
    let failure: unknown = null
    const abort = () => {
      failure = options.signal?.reason
      child.kill('SIGKILL')
    }
    const timer = setTimeout(() => {
      failure = new EngineError('failed', `${program} ${args[0] ?? ''} took longer than ${options.timeoutMs} ms`)
      child.kill('SIGKILL')
    }, options.timeoutMs)
    options.signal?.addEventListener('abort', abort, { once: true })
    const settle = (then: () => void) => {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', abort)
      then()
    }
    const stdout = collect(child.stdout)
    const stderr = collect(child.stderr)
    child.on('error', (cause) => settle(() => reject(new EngineError('failed', `cannot start ${program}`, { cause }))))
    child.on(capture ? 'close' : 'exit', (code: number | null, killedBy: string | null) =>
      settle(() =>
        failure === null ? resolve({ code, killedBy, stdout: stdout(), stderr: stderr() }) : reject(failure),
      ),
    )
  })
}

/** Like `runTool`, but an exit code other than 0 rejects with kind `failed` (`no_space` where the tool says so) and the tool's own words. */
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
