import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nodeBinary } from '../../e2e/support/service-process.ts'
import type { Tally, Target } from './attacker/target.ts'

const main = fileURLToPath(new URL('attacker/main.ts', import.meta.url))

/**
 * The time after the minimum time at which an attacker is killed, because it does not end by
 * itself.
 */
const lateMs = 90_000

/** An attack from outside. It lasts for a minimum time, and until `enough` resolves. */
export interface Attacking {
  readonly target: Target
  readonly leastMs: number
  readonly enough: Promise<void>
}

/**
 * Runs an attack from outside in a separate process, so that it takes no time from the measurement.
 */
export async function runAttacker(name: string, { target, leastMs, enough }: Attacking): Promise<Tally> {
  const child = spawn(nodeBinary(), [main, JSON.stringify({ name, leastMs, target })], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: leastMs + lateMs,
    killSignal: 'SIGKILL',
  })
  child.stdin.on('error', () => {}) // An attacker that has ended reports that with its exit code.
  void enough.then(() => child.stdin.end())
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`the attacker ended with ${code}: ${output}`)
  return JSON.parse(output) as Tally
}
