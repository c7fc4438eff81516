import type { Isolation } from '@holt/protocol'
import { HoltError, pairsOf, type RlimitName, type RlimitPair, type Rlimits } from '@holt/protocol'

/**
 * The limits that the kernel of a class accepts but does not enforce as in setrlimit(2), and the
 * alternatives.
 */
const notHeld: Readonly<Record<Isolation, Partial<Record<RlimitName, string>>>> = {
  gvisor: { data: 'gVisor counts only the heap of brk(2) as data. Use `as` instead.' },
  container: {},
}

/**
 * Returns the limits of a command in the guest's form. Throws if the runtime's class would not
 * enforce one.
 */
export function rlimitsOf(rlimits: Rlimits, isolation: Isolation): Readonly<Record<string, RlimitPair>> {
  for (const name of Object.keys(rlimits) as RlimitName[]) {
    const why = notHeld[isolation][name]
    if (why === undefined) continue
    throw new HoltError(
      'unsupported_setting',
      `The limit ${name} does not hold in a runtime of the class ${isolation}: ${why}`,
      {
        details: { issues: [{ pointer: `/rlimits/${name}`, message: 'does not hold in this class of isolation' }] },
      },
    )
  }
  return pairsOf(rlimits)
}
