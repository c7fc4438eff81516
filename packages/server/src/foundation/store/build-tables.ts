import type { BuildStatus } from '@holt/protocol'
import type { Generated, Selectable } from 'kysely'

// As in tables.ts: times are milliseconds since 1970 UTC, and columns named `_json` hold JSON text.

/**
 * Builds. Nothing secret of a request is stored. The whole request is only in memory, so a build
 * has failed if its process ends first.
 */
export interface BuildsTable {
  readonly seq: Generated<number>
  readonly build_id: string
  readonly project_id: string
  readonly template_id: string
  readonly name: string
  readonly tag: string
  readonly status: BuildStatus
  readonly reason_json: string | null
  readonly warnings_json: string
  readonly ignored_json: string
  readonly steps_json: string
  readonly image_digest: string | null
  readonly size_bytes: number | null
  /** The cursor of the last line that was logged, even if that line was dropped. */
  readonly log_cursor: number
  /** The size of the stored log, in bytes. */
  readonly log_bytes: number
  readonly created_at: number
  readonly started_at: number | null
  readonly ended_at: number | null
  /** The host that runs the build, and its epoch then. */
  readonly host_id: string | null
  readonly host_epoch: number | null
  /** The context of its request. */
  readonly context_id: string | null
}

/** The requests of builds, without secret values. The oldest of a project are removed first. */
export interface BuildRequestsTable {
  readonly build_id: string
  readonly request_json: string
  /** The size of `request_json`, in bytes. */
  readonly request_bytes: number
}

/** The stored log lines of builds. A gap between cursors stands for dropped lines. */
export interface BuildLogsTable {
  readonly build_id: string
  readonly cursor: number
  readonly line_json: string
}

/**
 * The engine resources of a build. A row is written before its resource exists. The sizes count
 * when room for a runtime is sought.
 */
export interface BuildResourcesTable {
  readonly resource_id: string
  readonly build_id: string
  readonly kind: 'runtime' | 'checkpoint'
  readonly memory_mib: number
  readonly cpu: Generated<number>
  readonly disk_mib: Generated<number>
  /** The host on which the resource is, and its epoch at the time of writing. */
  readonly host_id: string | null
  readonly host_epoch: number | null
}

/**
 * Uploaded contexts. Each is a tar file. `size_bytes` and `sha256` describe the upload, and
 * `file_bytes` is the size of the file.
 */
export interface BuildContextsTable {
  readonly context_id: string
  readonly project_id: string
  readonly sha256: string
  readonly size_bytes: number
  readonly file_bytes: number
  readonly entries: number
  readonly created_at: number
  readonly used_at: number
  /** The host that has the file. Null: it was uploaded before there were hosts. */
  readonly host_id: string | null
}

/** The notes about builds of E2B's clients that hosts of a fleet share (`BuildNotes`). */
export interface BuildNotesTable {
  readonly project_id: string
  readonly kind: string
  readonly name: string
  readonly text: string
  readonly changed_at: number
}

/** States of earlier builds, by the steps that led to them. */
export interface BuildCacheTable {
  readonly project_id: string
  readonly key: string
  /** The host on whose disk the result is. */
  readonly host_id: string
  readonly type: 'image' | 'checkpoint'
  readonly image_digest: string
  readonly checkpoint_id: string | null
  readonly size_bytes: number
  readonly facts_json: string
  readonly created_at: number
  readonly used_at: number
}

/** The content of cache mounts. Each is a tar file. */
export interface BuildMountsTable {
  readonly project_id: string
  readonly mount_id: string
  /** The host on whose disk the file is. */
  readonly host_id: string
  readonly file: string
  readonly size_bytes: number
  readonly created_at: number
  readonly used_at: number
}

/**
 * Container images that were pulled, by their exact names. Each belongs to one project. Another
 * project has to prove to the registry that it may have the image.
 */
export interface PulledImagesTable {
  readonly project_id: string
  readonly key: string
  /** The host on whose disk the image is. */
  readonly host_id: string
  readonly image_digest: string
  readonly size_bytes: number
  readonly settings_json: string
  readonly created_at: number
  readonly used_at: number
}

/** A build as stored. */
export type BuildRow = Selectable<BuildsTable>
/** A context as stored. */
export type BuildContextRow = Selectable<BuildContextsTable>
