import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { programFile, sourceFile } from '@holt/testkit'
import { vi } from 'vitest'
import type { TestService } from '../../../sdk/test/support/test-service.ts'

/** Each test starts several processes, and the machine may be busy with others. */
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** The program, as the launcher runs it. */
export const holtArgv = [process.execPath, '--', programFile('holt')] as const

/** The program from its sources. */
export const sourceArgv = [process.execPath, '--', sourceFile('holt')] as const

/**
 * The directory of Node's compiled code. Without it, half of a start is compiling. A bundle has its
 * own.
 */
const compileCache = fileURLToPath(new URL('../../../../.holt/compile-cache', import.meta.url))

/** The result of a run of the program. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The options for a run of the program. */
export interface RunHow {
  readonly service?: TestService
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Buffer
  readonly cwd?: string
  /** Another program than the CLI's own entry. */
  readonly argv?: readonly string[]
}

/** Starts the program with pipes. */
export function startHolt(args: readonly string[], how: RunHow = {}): ChildProcessWithoutNullStreams {
  const [program = '', ...first] = how.argv ?? holtArgv
  const { service, env = {} } = how
  const reach = service === undefined ? {} : { HOLT_URL: service.url, HOLT_API_KEY: service.key }
  const compiled = how.argv === undefined ? { NODE_COMPILE_CACHE: compileCache } : {}
  const own = { PATH: process.env.PATH, ...compiled }
  return spawn(program, [...first, ...args], { cwd: how.cwd, env: { ...own, ...reach, ...env } })
}

/** Runs the program to its end. */
export async function runHolt(args: readonly string[], how: RunHow = {}): Promise<Ended> {
  const child = startHolt(args, how)
  child.stdin.on('error', () => undefined)
  child.stdin.end(how.input ?? '')
  return endOf(child)
}

/** Waits for the end of a program that was started. */
export async function endOf(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }
}
