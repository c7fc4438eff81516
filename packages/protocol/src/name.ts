import { z } from 'zod'
import { type IdKind, idPrefixes } from './ids.ts'

/** A runtime's, template's or key's name: one DNS label. */
export const Name = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be 1 to 63 characters of a-z, 0-9 and -, and begin and end with a letter or digit',
  )

/**
 * The name of something that is also addressed by its id: one that looks like an id would be two
 * things at once.
 */
export function nameBesideId(kind: IdKind) {
  const idForm = new RegExp(`^${idPrefixes[kind]}[a-z0-9]{20}$`)
  return Name.refine((name) => !idForm.test(name), `must not look like a ${kind} id`)
}
