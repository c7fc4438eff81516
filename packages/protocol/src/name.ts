import { z } from 'zod'
import { type IdKind, idPrefixes } from './ids.ts'

/** The name of a runtime, template or key: one DNS label. */
export const Name = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be 1 to 63 characters of a-z, 0-9 and -, and begin and end with a letter or digit',
  )

/**
 * Returns the schema of a name for things that also have an id as address. A name in the form of an
 * id is refused, because it would be ambiguous.
 */
export function nameBesideId(kind: IdKind) {
  const idForm = new RegExp(`^${idPrefixes[kind]}[a-z0-9]{20}$`)
  return Name.refine((name) => !idForm.test(name), `must not look like a ${kind} id`)
}
