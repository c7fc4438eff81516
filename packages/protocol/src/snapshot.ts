import { z } from 'zod'
import { idSchema } from './ids.ts'
import { nameBesideId } from './name.ts'
import { pageQuery, Timestamp } from './page.ts'
import { Isolation } from './runtime.ts'
import { Text } from './text.ts'

/** What a snapshot holds: everything (`memory`: processes, memory and files), or the files alone. */
export const SnapshotKind = z.enum(['memory', 'filesystem'])
export type SnapshotKind = z.infer<typeof SnapshotKind>

/** Every state of a snapshot. */
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

/** A snapshot of a runtime, from which others are made. */
export const Snapshot = z
  .object({
    snapshot_id: idSchema('snapshot'),
    name: z.string().nullable(),
    kind: SnapshotKind,
    state: z.enum(snapshotStates),
    state_reason: z.object({ code: z.string(), message: z.string() }).nullable(),
    runtime_id: idSchema('runtime').describe('The runtime it was taken of, which may be gone.'),
    template: z.object({ template_id: idSchema('template'), name: z.string() }).describe("The runtime's template."),
    isolation: Isolation.describe('Of the runtime; a filesystem snapshot boots in every class.'),
    cpu: z.number(),
    memory_mib: z.number().int(),
    disk_mib: z.number().int().describe('The smallest disk that a runtime of it may have.'),
    size_bytes: z.number().int().nullable().describe('What it takes of the disk; null until it is ready.'),
    created_at: Timestamp,
  })
  .meta({ id: 'Snapshot' })
export type Snapshot = z.infer<typeof Snapshot>

/** The query of the list of snapshots. */
export const ListSnapshotsQuery = z.strictObject({
  ...pageQuery,
  name: Text.max(63).optional(),
  kind: SnapshotKind.optional(),
  state: z.enum(snapshotStates).optional(),
  runtime_id: Text.max(22).optional(),
})
export type ListSnapshotsQuery = z.output<typeof ListSnapshotsQuery>
