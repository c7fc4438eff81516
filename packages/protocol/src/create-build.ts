import { z } from 'zod'
import { BuildArgs, BuildName, noNul } from './build-args.ts'
import { BuildSteps, commandText, ownerText } from './build-step.ts'
import { nameBesideId } from './name.ts'
import { WantedPolicy } from './policy.ts'
import { mibSchema } from './quantity.ts'
import { Env } from './runtime.ts'
import { Text } from './text.ts'

/** A template's tag, in the form of container images. */
export const Tag = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, 'must be 1 to 128 characters of letters, digits and _.-')

/**
 * The names that the API uses below its path of templates. A template with such a name would have
 * no address.
 */
const takenNames = ['build', 'check', 'context']

const sources = ['from_image', 'from_template', 'from_snapshot', 'dockerfile'] as const

/**
 * The maximum number of characters of all build secrets together. Every line of a build's log is
 * searched for them.
 */
const maxSecretLength = 512 * 1024

/** The body of a build. */
export const CreateBuild = z
  .strictObject({
    name: nameBesideId('template')
      .refine((name) => !takenNames.includes(name), 'is a word of the API')
      .describe("The template's name."),
    tag: Tag.default('latest').describe("The template's tag. Default `latest`."),
    from_image: Text.min(1)
      .max(512)
      .optional()
      .describe('The container image to start from, such as `python:3.12-slim`.'),
    from_template: Text.min(1).max(200).optional().describe('The template to start from, by name, `name:tag` or id.'),
    from_snapshot: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe('The filesystem snapshot to start from, by name or id.'),
    dockerfile: noNul(1024 * 1024)
      .min(1)
      .optional()
      .describe('The text of a Dockerfile, at most 1 MiB.'),
    steps: BuildSteps.optional().describe(
      'The build steps, in order. Needs `from_image`, `from_template` or `from_snapshot`. At most 30,000 sources and variables in total.',
    ),
    context_id: Text.max(64)
      .optional()
      .describe(
        'The id of an uploaded build context: the files that COPY and ADD read. Upload one with `POST /v1/agents/template/context`. Default: none.',
      ),
    build_args: BuildArgs.default({}).describe(
      'Values for the ARG instructions of the Dockerfile, by name. Default: none.',
    ),
    target: Text.min(1)
      .max(128)
      .optional()
      .describe('The Dockerfile stage to build, by name or number. Default: the last stage.'),
    build_secrets: z
      .record(BuildName, noNul(maxSecretLength))
      .default({})
      .describe(
        'Values for `RUN --mount=type=secret,id=NAME`, by name. They are held in memory only and are not part of the image. Default: none.',
      ),
    registry_auth: z
      .strictObject({
        username: noNul(1024).describe('The user name at the registry.'),
        password: noNul(64 * 1024).describe('The password or access token.'),
        registry: z
          .string()
          .max(255)
          .optional()
          .describe('The host and port of the registry. Default: the registry of `from_image` or of the first FROM.'),
      })
      .optional()
      .describe('The login for a private registry. It is held in memory only. Default: no login.'),
    start_cmd: commandText
      .optional()
      .describe(
        'A command line that the build starts in the finished image. It is running in each new runtime. Default: none.',
      ),
    ready_cmd: commandText
      .optional()
      .describe(
        'A command line that the build repeats until it exits with 0. The build then takes the checkpoint. Default: none.',
      ),
    on_restore: commandText
      .optional()
      .describe('A command line that runs in each new runtime before the create answers. Default: none.'),
    ready_timeout_secs: z
      .number()
      .int()
      .min(1)
      .max(3600)
      .default(600)
      .describe('The time limit in seconds for `ready_cmd` to exit with 0. Default 600.'),
    timeout_secs: z
      .number()
      .int()
      .min(10)
      .max(24 * 3600)
      .default(3600)
      .describe('The time limit of the whole build in seconds. Default 3600.'),
    cpu: z
      .number()
      .min(0.1)
      .max(256)
      .multipleOf(0.001)
      .optional()
      .describe('The default vCPUs of its runtimes. Default 1.'),
    memory: mibSchema({ minMiB: 64, maxMiB: 4 * 1024 * 1024 })
      .optional()
      .describe('The default memory of its runtimes. Default 1 GiB.'),
    disk: mibSchema({ minMiB: 64, maxMiB: 64 * 1024 * 1024 })
      .optional()
      .describe(
        'The default disk of its runtimes. The image and everything that the build installs must fit. Default 4 GiB.',
      ),
    env: Env.default({}).describe(
      'Environment variables of its runtimes, in addition to those of the image. Default: none.',
    ),
    user: ownerText.optional().describe('The default user of commands. Default: the user of the image.'),
    workdir: z
      .string()
      .startsWith('/')
      .max(4096)
      .optional()
      .describe('The default working directory of commands. Default: the working directory of the image.'),
    network_policy: WantedPolicy.optional().describe(
      'The network that build steps may reach. Default: the public Internet. Null: nothing.',
    ),
    no_cache: z
      .boolean()
      .default(false)
      .describe('True: run every step, even if its result is in the cache. Default false.'),
  })
  .superRefine((body, context) => {
    const given = sources.filter((source) => body[source] !== undefined)
    if (given.length !== 1)
      context.addIssue({ code: 'custom', path: [], message: `must have exactly one of ${sources.join(', ')}` })
    if (body.dockerfile !== undefined && body.steps !== undefined)
      context.addIssue({ code: 'custom', path: ['steps'], message: 'is not for a dockerfile' })
    if (body.dockerfile === undefined && body.target !== undefined)
      context.addIssue({ code: 'custom', path: ['target'], message: 'is for a dockerfile' })
    if (body.ready_cmd !== undefined && body.start_cmd === undefined)
      context.addIssue({ code: 'custom', path: ['ready_cmd'], message: 'needs a start_cmd' })
    if (Object.values(body.build_secrets).reduce((sum, { length }) => sum + length, 0) > maxSecretLength)
      context.addIssue({
        code: 'custom',
        path: ['build_secrets'],
        message: 'must be 512 KiB at the most, all together',
      })
  })
  .meta({
    id: 'CreateBuild',
    examples: [{ name: 'web', from_image: 'python:3.12-slim', steps: [{ run: 'pip install flask' }] }],
  })
export type CreateBuildInput = z.input<typeof CreateBuild>
export type CreateBuild = z.output<typeof CreateBuild>
