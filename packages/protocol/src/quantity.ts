import { z } from 'zod'

const unitsInBytes: Readonly<Record<string, number>> = {
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  // The short forms of docker.
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
}

/**
 * Returns an amount of memory or disk as whole MiB, rounded up. A number is in GiB (`0.5`). A
 * string has a unit: `"512MiB"`, `"8GB"`, or in docker's form `"512m"`, `"8G"`, with powers of
 * 1024. Returns null if it is neither, not finite, or not above zero.
 */
export function parseMiB(value: number | string): number | null {
  if (typeof value === 'number') return positive(Math.ceil(value * 1024))
  const match = /^(\d{1,12}(?:\.\d{1,6})?)(?:\s?(MiB|GiB|TiB|MB|GB|TB)|([kmgt]))$/i.exec(value)
  const [, amount, unit, letter] = match ?? []
  const bytes = unitsInBytes[unit ?? letter?.toLowerCase() ?? '']
  return amount === undefined || bytes === undefined ? null : positive(Math.ceil((Number(amount) * bytes) / 2 ** 20))
}

function positive(mib: number): number | null {
  return Number.isSafeInteger(mib) && mib > 0 ? mib : null
}

/** Returns the schema of a `memory` or `disk` field. It parses to MiB between the bounds. */
export function mibSchema({ minMiB, maxMiB }: { minMiB: number; maxMiB: number }) {
  return z
    .union([z.number(), z.string().max(32)])
    .transform((value, context) => {
      const mib = parseMiB(value)
      if (mib === null) {
        context.addIssue({
          code: 'custom',
          message: 'must be a number of GiB, or a string such as "512MiB", "8GB" or "512m"',
        })
        return z.NEVER
      }
      if (mib < minMiB || mib > maxMiB) {
        context.addIssue({ code: 'custom', message: `must be between ${minMiB} MiB and ${maxMiB} MiB` })
        return z.NEVER
      }
      return mib
    })
    .describe('A number of GiB (`8`, `0.5`), or a string with a unit (`"512MiB"`, `"8GB"`, `"512m"`).')
}
