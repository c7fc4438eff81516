import { attackOf } from './attacks.ts'
import type { Target } from './target.ts'

/** Runs one attack for a time and prints what it came to: `main.ts '{"name": ..., "ms": ..., "target": {...}}'`. */
const { name, ms, target } = JSON.parse(process.argv[2] ?? '{}') as { name: string; ms: number; target: Target }
const attack = attackOf(name)
// Connections that are not read keep no process alive.
setInterval(() => {}, 1_000)
const tally = await attack.run(target, ms)
process.stdout.write(`${JSON.stringify(tally)}\n`, () => process.exit(0))
