import { z } from 'zod'

/** The schema of the name of a build argument or secret. */
export const BuildName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,255}$/, 'must be a name: letters, digits and _.-')
/** Returns the schema of a text without NUL, of at most `maxLength` characters. */
export const noNul = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((text) => !text.includes('\0'), 'must not contain NUL')

/**
 * The maximum number of build arguments. A Dockerfile can declare no more of them (`wordLimits` of
 * the builder).
 */
export const maxBuildArgs = 8000

/** Values for the ARG instructions of a Dockerfile, by name. */
export const BuildArgs = z
  .record(BuildName, noNul(64 * 1024))
  .refine((args) => Object.keys(args).length <= maxBuildArgs, `must have at most ${maxBuildArgs} arguments`)
