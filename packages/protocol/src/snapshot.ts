import { z } from 'zod'
import { idSchema } from './ids.ts'
import { nameBesideId } from './name.ts'
import { pageQuery, Timestamp } from './page.ts'
import { Isolation } from './runtime.ts'
import { Text } from './text.ts'

/**
 * The content of a snapshot: everything (`memory`: processes, memory and files), or only the files.
 */
export const SnapshotKind = z.enum(['memory', 'filesystem'])
export type SnapshotKind = z.infer<typeof SnapshotKind>

/** The states of a snapshot. */
export const snapshotStates = ['writing', 'ready', 'failed'] as const

/** A state of a snapshot. */
export type SnapshotState = (typeof snapshotStates)[number]

/** The body of a snapshot. */
export const CreateSnapshot = z
  .strictObject({
    name: nameBesideId('snapshot').optional().describe('Unique among the snapshots of the project.'),
    kind: SnapshotKind.optional().describe('Default `memory` where the class of isolation has it, else `filesystem`.'),
  })
  .meta({ id: 'CreateSnapshot' })
export type CreateSnapshotInput = z.input<typeof CreateSnapshot>
export type CreateSnapshot = z.output<typeof CreateSnapshot>

/** A snapshot of a runtime, from which other runtimes are made. */
export const Snapshot = z
  .object({
    snapshot_id: idSchema('snapshot').describe('The id of the snapshot.'),
    name: z.string().nullable().describe('Its name; null where it has none.'),
    kind: SnapshotKind.describe('`memory`: processes, memory and files. `filesystem`: the files alone.'),
    state: z.enum(snapshotStates).describe('Its state. `ready` and `failed` are final.'),
    state_reason: z
      .object({
        code: z.string().describe('The kind of failure, for programs.'),
        message: z.string().describe('What happened, in a sentence.'),
      })
      .nullable()
      .describe('Why it failed; else null.'),
    runtime_id: idSchema('runtime').describe('The runtime it was taken of, which may be gone.'),
    template: z
      .object({
        template_id: idSchema('template').describe('The id of the template.'),
        name: z.string().describe('The name of the template.'),
      })
      .describe("The runtime's template."),
    isolation: Isolation.describe('Of the runtime; a filesystem snapshot boots in every class.'),
    cpu: z.number().describe('The vCPUs of the runtime.'),
    memory_mib: z.number().int().describe('The memory of the runtime in MiB.'),
    disk_mib: z.number().int().describe('The smallest disk that a runtime of it may have.'),
    size_bytes: z.number().int().nullable().describe('What it takes of the disk; null until it is ready.'),
    created_at: Timestamp.describe('When it was taken (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Snapshot' })
export type Snapshot = z.infer<typeof Snapshot>

/** The query of the list of snapshots. */
export const ListSnapshotsQuery = z.strictObject({
  ...pageQuery,
  name: Text.max(63).optional().describe('Only the snapshot with this name.'),
  kind: SnapshotKind.optional().describe('Only snapshots of this kind.'),
  state: z.enum(snapshotStates).optional().describe('Only snapshots in this state.'),
  runtime_id: Text.max(22).optional().describe('Only snapshots of this runtime.'),
})
export type ListSnapshotsQuery = z.output<typeof ListSnapshotsQuery>
