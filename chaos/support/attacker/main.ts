import { once } from 'node:events'
import { attackOf } from './attacks.ts'
import type { Target } from './target.ts'

/**
 * Runs one attack until its input ends, but for a minimum time, and prints the result:
 * `main.ts '{"name": ..., "leastMs": ..., "target": {...}}'`.
 */
const { name, leastMs, target } = JSON.parse(process.argv[2] ?? '{}') as {
  name: string
  leastMs: number
  target: Target
}
const attack = attackOf(name)
const enough = once(process.stdin.resume(), 'end').then(() => {})
// Connections that are not read do not keep a process alive.
setInterval(() => {}, 1_000)
const tally = await attack.run(target, { leastMs, enough })
process.stdout.write(`${JSON.stringify(tally)}\n`, () => process.exit(0))
