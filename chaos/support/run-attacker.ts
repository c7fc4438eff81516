import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nodeBinary } from '../../e2e/support/service-process.ts'
import type { Tally, Target } from './attacker/target.ts'

const main = fileURLToPath(new URL('attacker/main.ts', import.meta.url))

/**
 * An attacker who is not over so long after the time that it has at the least does not end by
 * itself.
 */
const lateMs = 90_000

/**
 * An attack from outside, and how long it goes on: for a time at the least, and until enough was
 * seen.
 */
export interface Attacking {
  readonly target: Target
  readonly leastMs: number
  readonly enough: Promise<void>
}

/**
 * Runs an attack from outside in a process of its own, so that it takes no time of who measures.
 */
export async function runAttacker(name: string, { target, leastMs, enough }: Attacking): Promise<Tally> {
  const child = spawn(nodeBinary(), [main, JSON.stringify({ name, leastMs, target })], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: leastMs + lateMs,
    killSignal: 'SIGKILL',
  })
  child.stdin.on('error', () => {}) // One that has ended by itself says so with its code.
  void enough.then(() => child.stdin.end())
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`the attacker ended with ${code}: ${output}`)
  return JSON.parse(output) as Tally
}
