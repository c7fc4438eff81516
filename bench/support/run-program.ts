import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How a program is run. */
export interface ProgramOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Besides the path and the locale. */
  readonly environment?: Readonly<Record<string, string>>
}

const toolPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const wordsShown = 500
let outputs = 0

/** Finds a program on the usual path; null where there is none. */
export function findProgram(name: string): string | null {
  for (const dir of [...toolPath.split(':'), ...(process.env.PATH ?? '').split(':')]) {
    try {
      accessSync(join(dir, name), constants.X_OK)
      return join(dir, name)
    } catch {
      // It is not in this one.
    }
  }
  return null
}

/**
 * Runs a program to its end and answers its stdout. Rejects with what it said when it fails or
 * takes too long.
 */
export async function runProgram(argv: readonly string[], options: ProgramOptions): Promise<string> {
  const output = join(tmpdir(), `holt-bench-${process.pid}-${outputs++}`)
  // Output goes to a file: what outlives the program and has inherited a pipe would hold it open.
  const file = await open(output, 'wx', 0o600)
  try {
    const code = await waitFor(argv, file.fd, options)
    const words = await readFile(output, 'utf8')
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${words.trim().slice(-wordsShown)}`)
    return words
  } finally {
    await file.close()
    await rm(output, { force: true })
  }
}

/**
 * Runs a program to its end as cheaply as that is done, for the clock. What it says is lost;
 * rejects when it fails.
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
