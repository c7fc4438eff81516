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
    name: nameBesideId('snapshot')
      .optional()
      .describe('The name of the snapshot, unique in the project. Default: no name.'),
    kind: SnapshotKind.optional().describe(
      'The kind of snapshot. Default: `memory` if the isolation class supports it, else `filesystem`.',
    ),
    record_files: z
      .boolean()
      .optional()
      .describe(
        'True: keep a record of the files, so that a diff can compare with this memory snapshot. It takes time in proportion to the number of files. A filesystem snapshot needs none and refuses it. Default false.',
      ),
  })
  .meta({ id: 'CreateSnapshot' })
export type CreateSnapshotInput = z.input<typeof CreateSnapshot>
export type CreateSnapshot = z.output<typeof CreateSnapshot>

/** A snapshot of a runtime, from which other runtimes are made. */
export const Snapshot = z
  .object({
    snapshot_id: idSchema('snapshot').describe('The id of the snapshot.'),
    name: z.string().nullable().describe('The name of the snapshot; null if it has no name.'),
    kind: SnapshotKind.describe(
      'The content of the snapshot. `memory`: processes, memory and files. `filesystem`: files only.',
    ),
    record_files: z
      .boolean()
      .nullable()
      .describe(
        'True if a diff can compare with this memory snapshot, because it has a record of the files. Null for a filesystem snapshot, which needs none, and for snapshots of old versions, for which it is not known.',
      ),
    state: z.enum(snapshotStates).describe('The state of the snapshot. `ready` and `failed` are final.'),
    state_reason: z
      .object({
        code: z.string().describe('The kind of failure, for programs.'),
        message: z.string().describe('A sentence for people that says what happened.'),
      })
      .nullable()
      .describe('Why the snapshot failed; null if it has not failed.'),
    runtime_id: idSchema('runtime').describe('The source runtime. It may no longer exist.'),
    template: z
      .object({
        template_id: idSchema('template').describe('The id of the template.'),
        name: z.string().describe('The name of the template.'),
      })
      .describe('The template of the source runtime.'),
    isolation: Isolation.describe(
      'The isolation class of the source runtime. A filesystem snapshot boots in every class.',
    ),
    cpu: z.number().describe('The vCPUs of the source runtime.'),
    memory_mib: z.number().int().describe('The memory of the source runtime in MiB.'),
    disk_mib: z.number().int().describe('The smallest disk in MiB of a runtime from this snapshot.'),
    size_bytes: z.number().int().nullable().describe('The size on disk in bytes; null until the snapshot is ready.'),
    created_at: Timestamp.describe('When the snapshot was taken (RFC 3339 UTC with milliseconds).'),
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
