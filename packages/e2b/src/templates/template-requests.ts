import { z } from 'zod'
import { logLevels } from '../control/log-levels.ts'
import { optional } from '../json/optional.ts'

/** The maximum number of characters of a command line or a variable. */
const maxText = 128 * 1024

const text = z.string().max(maxText)
const name = z.string().min(1).max(200)
const tags = z.array(z.string().min(1).max(128)).max(100)

/** The body that requests a build, before files are uploaded and before it starts. */
export const NewTemplate = z.object({
  name,
  tags: optional(tags),
  cpuCount: optional(z.number().int().min(1).max(256)),
  memoryMB: optional(
    z
      .number()
      .int()
      .min(64)
      .max(4 * 1024 * 1024),
  ),
  minFreeDiskMb: optional(
    z
      .number()
      .int()
      .min(0)
      .max(64 * 1024 * 1024),
  ),
})
export type NewTemplate = z.output<typeof NewTemplate>

/** One step of a template. The meaning of `args` depends on the type. */
export const TemplateStep = z.object({
  type: z.string().max(32),
  args: optional(z.array(text).max(10_000)),
  filesHash: optional(z.string().max(128)),
  force: optional(z.boolean()),
})
export type TemplateStep = z.output<typeof TemplateStep>

const RegistryLogin = z.discriminatedUnion('type', [
  z.object({ type: z.literal('registry'), username: z.string().max(1024), password: text }),
  z.object({ type: z.literal('aws') }),
  z.object({ type: z.literal('gcp'), serviceAccountJson: text }),
])

/** The body that starts a requested build. */
export const StartBuild = z.object({
  fromImage: optional(z.string().min(1).max(512)),
  fromTemplate: optional(name),
  fromImageRegistry: optional(RegistryLogin),
  force: optional(z.boolean()),
  steps: optional(z.array(TemplateStep).max(1000)),
  startCmd: optional(text),
  readyCmd: optional(text),
})
export type StartBuild = z.output<typeof StartBuild>

/** The query of the status of a build. */
export const StatusQuery = z.object({
  logsOffset: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(100).default(100),
  level: z.enum(logLevels).default('debug'),
})
export type StatusQuery = z.output<typeof StatusQuery>

/**
 * The query of the log of a build. The cursor is milliseconds since 1970 UTC. `source` names a
 * storage of the service that clients know; every source has the same lines.
 */
export const BuildLogsQuery = z.object({
  cursor: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(0).max(100).default(100),
  direction: z.enum(['forward', 'backward']).default('forward'),
  level: z.enum(logLevels).default('debug'),
  source: z.enum(['temporary', 'persistent']).optional(),
})
export type BuildLogsQuery = z.output<typeof BuildLogsQuery>

/** The body that gives a build further tags. */
export const AssignTags = z.object({ target: name, tags: tags.min(1) })

/** The body that takes tags from a template. */
export const RemoveTags = z.object({ name, tags: tags.min(1) })

/** The query of the list of templates. */
export const ListTemplates = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(100),
  nextToken: z.string().max(200).optional(),
})

/** The body that publishes a template. */
export const UpdateTemplate = z.object({ public: optional(z.boolean()) })
