import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findProgram, runProgram } from '../run-program.ts'

const program = join(import.meta.dirname, 'kernel-copy.pl')
const startTimeoutMs = 30_000
const copyTimeoutMs = 5 * 60_000

/** A relay of TCP connections within the kernel. */
export interface Relay extends AsyncDisposable {
  readonly port: number
}

/**
 * Copies a file over a loopback connection into a file, within the kernel. Returns the milliseconds
 * by the program's own clock.
 */
export async function copyInKernel(source: string, destination: string, signal: AbortSignal): Promise<number> {
  const argv = [perl(), program, 'through', source, destination]
  return Number(await runProgram(argv, { timeoutMs: copyTimeoutMs, signal }))
}

/** Starts a relay to a port on loopback. */
export async function startRelay(port: number, signal: AbortSignal): Promise<Relay> {
  const child = spawn(perl(), [program, 'relay', String(port)], { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  // The relay ends with its input.
  const end = async () => {
    child.stdin.end()
    await ended
  }
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)])
    const [line] = await once(createInterface({ input: child.stdout }), 'line', { signal: limit })
    return { port: Number(line), [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

function perl(): string {
  const found = findProgram('perl')
  if (found === null) throw new Error('perl is not installed: it measures floors of rows')
  return found
}
