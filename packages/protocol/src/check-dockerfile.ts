import { z } from 'zod'
import { BuildArgs, noNul } from './build-args.ts'
import { Text } from './text.ts'

/** The body of a check. */
export const CheckDockerfile = z
  .strictObject({
    dockerfile: noNul(1024 * 1024)
      .min(1)
      .describe('The text of the Dockerfile, at most 1 MiB.'),
    build_args: BuildArgs.default({}).describe('Values for the ARG instructions, by name. Default: none.'),
    target: Text.min(1).max(128).optional().describe('The stage to check, by name or number. Default: the last stage.'),
  })
  .meta({ id: 'CheckDockerfile', examples: [{ dockerfile: 'FROM python:3.12-slim' }] })
export type CheckDockerfileInput = z.input<typeof CheckDockerfile>

/** The effect of one instruction in a build. */
export const CheckedLine = z.object({
  line: z.number().int().describe('The first line of the instruction, from 1.'),
  end_line: z.number().int().describe('The last line of the instruction, from 1.'),
  instruction: z.string().describe('The instruction, such as `RUN`.'),
  text: z.string().describe('The instruction on one line, shortened.'),
  verdict: z
    .enum(['supported', 'ignored', 'refused'])
    .describe(
      'The effect in a build. `supported`: the instruction works. `ignored`: it has no effect. `refused`: the build does not start.',
    ),
  reason: z.string().nullable().describe('Why the instruction is ignored or refused; null if it is supported.'),
  fix: z.string().nullable().describe('The change to make instead; null if none is known.'),
})
export type CheckedLine = z.infer<typeof CheckedLine>

/** The effect of a Dockerfile in a build. */
export const DockerfileCheck = z
  .object({
    ok: z.boolean().describe('True if a build can start: no instruction is refused.'),
    lines: z.array(CheckedLine).describe('The instructions, in the order of the file.'),
    warnings: z.array(z.string()).describe('Warnings that do not stop a build.'),
    images: z.array(z.string()).describe('The container images that the Dockerfile starts from.'),
    templates: z.array(z.string()).describe('The templates that the Dockerfile starts from.'),
  })
  .meta({ id: 'DockerfileCheck' })
export type DockerfileCheck = z.infer<typeof DockerfileCheck>
