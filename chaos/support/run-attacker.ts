import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nodeBinary } from '../../e2e/support/service-process.ts'
import type { Tally, Target } from './attacker/target.ts'

const main = fileURLToPath(new URL('attacker/main.ts', import.meta.url))

/** An attacker who is not over so long after the end does not end by itself. */
const lateMs = 30_000

/** Runs an attack from outside in a process of its own, so that it takes no time of who measures. */
export async function runAttacker(name: string, { target, ms }: { target: Target; ms: number }): Promise<Tally> {
  const child = spawn(nodeBinary(), [main, JSON.stringify({ name, ms, target })], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: ms + lateMs,
    killSignal: 'SIGKILL',
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`the attacker ended with ${code}: ${output}`)
  return JSON.parse(output) as Tally
}
