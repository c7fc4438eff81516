import type { z } from 'zod'

/**
 * Runs a check over several fields even if other fields are wrong, so that one answer names all
 * faults. Does not run it if one of `fields` is wrong itself, or the value is no object.
 */
export function ifSound(...fields: readonly string[]) {
  return {
    when: ({ issues }: z.core.ParsePayload): boolean =>
      issues.every(
        ({ code, path: [field] = [] }) =>
          code === 'unrecognized_keys' || (field !== undefined && !fields.includes(String(field))),
      ),
  }
}
