import { z } from 'zod'
import { Env } from './runtime.ts'
import { byteLength, maxArgumentBytes, Text } from './text.ts'

/** The schema of a command line. */
export const commandText = z
  .string()
  .min(1)
  .max(64 * 1024)
  .refine((text) => !text.includes('\0'), 'must not contain NUL')
  .refine(
    (text) => byteLength(text) <= maxArgumentBytes,
    `must be at most ${maxArgumentBytes} bytes: write it to a file of the image`,
  )
const pathText = z
  .string()
  .min(1)
  .max(4096)
  .refine((text) => !text.includes('\0'), 'must not contain NUL')
/** The schema of a user, or `user:group`, by name or number. */
export const ownerText = Text.min(1).max(256)
/** A mode in the form of chmod(1): octal digits, or clauses such as `u+rwX,g=r`. */
export const modePattern =
  /^(?:[0-7]{3,4}|(?:[ugoa]*(?:[-+=](?:[ugo]|[rwxXst]*))+)(?:,[ugoa]*(?:[-+=](?:[ugo]|[rwxXst]*))+)*)$/
const modeText = z.string().max(256).regex(modePattern, 'must be a mode such as 755 or u+rwX,g=r')

/** One step on top of an image or a template: the effect of one line of a Dockerfile. */
export const BuildStep = z
  .union([
    z.strictObject({
      run: commandText.describe('A command line for `/bin/sh -c`, like RUN in a Dockerfile. At most 131,071 bytes.'),
    }),
    z.strictObject({
      copy: z
        .strictObject({
          source: z
            .union([pathText, z.array(pathText).min(1).max(1000)])
            .describe('One or more paths in the build context. Patterns with `*` are allowed.'),
          destination: pathText.describe('The path in the image. With several sources it must end with `/`.'),
          chown: ownerText.optional().describe('The owner: a user, or `user:group`, by name or number. Default root.'),
          chmod: modeText
            .optional()
            .describe('The mode, such as `755` or `u+rwX,g=r`. Default: the mode of the source.'),
        })
        .describe('Copies files of the build context into the image, like COPY in a Dockerfile.'),
    }),
    z.strictObject({ env: Env.describe('Environment variables for later steps and for runtimes.') }),
    z.strictObject({
      workdir: pathText.describe(
        'The working directory of later steps and of runtimes. It is created if it is missing.',
      ),
    }),
    z.strictObject({
      user: ownerText.describe(
        'The user of later steps and of runtimes: a user name or number, optionally with `:group`.',
      ),
    }),
  ])
  .meta({ id: 'BuildStep' })
export type BuildStep = z.output<typeof BuildStep>

/**
 * The maximum number of sources and variables of all steps of a build together. A JSON body can
 * hold little more.
 */
const maxStepNames = 30_000

/** The steps of a build. */
export const BuildSteps = z
  .array(BuildStep)
  .max(1000)
  .refine(
    (steps) => steps.reduce((sum, step) => sum + namesOf(step), 0) <= maxStepNames,
    `must have at most ${maxStepNames} sources and variables together: copy a directory or a pattern instead`,
  )

/** Returns the number of sources or variables in a step. */
function namesOf(step: BuildStep): number {
  if ('env' in step) return Object.keys(step.env).length
  return 'copy' in step && Array.isArray(step.copy.source) ? step.copy.source.length : 0
}
