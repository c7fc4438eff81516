import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The options of a program. */
export interface ProgramOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** The variables in addition to the path and the locale. */
  readonly environment?: Readonly<Record<string, string>>
}

const toolPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const charactersShown = 500
let outputs = 0

/** Returns the path of a program on the usual path; null if it is missing. */
export function findProgram(name: string): string | null {
  for (const dir of [...toolPath.split(':'), ...(process.env.PATH ?? '').split(':')]) {
    try {
      accessSync(join(dir, name), constants.X_OK)
      return join(dir, name)
    } catch {
      // Not in this directory.
    }
  }
  return null
}

/**
 * Runs a program to its end and returns its output. Rejects with the output if the program fails or
 * exceeds the timeout.
 */
export async function runProgram(argv: readonly string[], options: ProgramOptions): Promise<string> {
  const output = join(tmpdir(), `holt-bench-${process.pid}-${outputs++}`)
  // The output goes to a file. A process that outlives the program would hold an inherited pipe
  // open.
  const file = await open(output, 'wx', 0o600)
  try {
    const code = await waitFor(argv, file.fd, options)
    const text = await readFile(output, 'utf8')
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${text.trim().slice(-charactersShown)}`)
    return text
  } finally {
    await file.close()
    await rm(output, { force: true })
  }
}

/**
 * Runs a program to its end with as little overhead as possible, for timing. Discards its output.
 * Rejects if the program fails.
 */
export async function runSilently(argv: readonly string[], options: ProgramOptions): Promise<void> {
  const code = await waitFor(argv, 'ignore', options)
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}`)
}

function waitFor(
  argv: readonly string[],
  output: number | 'ignore',
  options: ProgramOptions,
): Promise<number | string> {
  const [program = '', ...args] = argv
  options.signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: '/',
      env: { PATH: toolPath, LC_ALL: 'C', ...options.environment },
      stdio: ['ignore', output, output],
    })
    const end = () => child.kill('SIGKILL')
    const timer = setTimeout(end, options.timeoutMs)
    options.signal?.addEventListener('abort', end, { once: true })
    const settle = () => {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', end)
    }
    child.on('error', (error) => {
      settle()
      reject(error)
    })
    child.on('exit', (code, signal) => {
      settle()
      resolve(code ?? signal ?? 'nothing')
    })
  })
}
