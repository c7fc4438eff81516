import type { Build, BuildStarted } from '@holt/protocol'
import type { BuildRow } from '../foundation/store/build-tables.ts'
import { moment, momentOrNull } from '../foundation/store/moment.ts'

/** Returns a stored build in the API's form. */
export function presentBuild(row: BuildRow): Build {
  return {
    ...presentStarted(row),
    reason: row.reason_json === null ? null : JSON.parse(row.reason_json),
    warnings: JSON.parse(row.warnings_json),
    ignored: JSON.parse(row.ignored_json),
    steps: JSON.parse(row.steps_json),
    image_digest: row.image_digest,
    size_bytes: row.size_bytes,
    created_at: moment(row.created_at),
    started_at: momentOrNull(row.started_at),
    ended_at: momentOrNull(row.ended_at),
    duration_ms: row.ended_at === null || row.started_at === null ? null : Math.max(0, row.ended_at - row.started_at),
  }
}

/** Returns the answer to the start of a build. */
export function presentStarted({ build_id, template_id, name, tag, status }: BuildRow): BuildStarted {
  return {
    build_id: build_id as BuildStarted['build_id'],
    template_id: template_id as BuildStarted['template_id'],
    name,
    tag,
    status,
  }
}
