import type { z } from 'zod'

/**
 * Lets a check over several fields of an object run also where other fields are wrong, so that all
 * that is wrong is named at once. Not where one of `fields` is wrong itself, or the value is no
 * object.
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
