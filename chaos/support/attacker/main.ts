import { clients } from './clients.ts'
import { strangers } from './strangers.ts'
import type { Attack, Target } from './target.ts'

/** Everything that is tried from outside. */
const attacks: Readonly<Record<string, Attack>> = { ...strangers, ...clients }

/** Runs one attack for a time and prints what it came to: `main.ts '{"name": ..., "ms": ..., "target": {...}}'`. */
const { name, ms, target } = JSON.parse(process.argv[2] ?? '{}') as { name: string; ms: number; target: Target }
const attack = attacks[name]
if (attack === undefined) throw new Error(`no such attack: ${name}`)
// Connections that are not read keep no process alive.
setInterval(() => {}, 1_000)
const tally = await attack(target, AbortSignal.timeout(ms))
process.stdout.write(`${JSON.stringify(tally)}\n`, () => process.exit(0))
