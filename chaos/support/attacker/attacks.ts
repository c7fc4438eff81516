import { clients } from './clients.ts'
import { storms } from './storms.ts'
import { strangers } from './strangers.ts'
import type { Attack } from './target.ts'

const attacks: Readonly<Record<string, Attack>> = { ...strangers, ...clients, ...storms }

/** Returns an attack from outside by its name. */
export function attackOf(name: string): Attack {
  const attack = attacks[name]
  if (attack === undefined) throw new Error(`no such attack: ${name}`)
  return attack
}
