import type { Snapshot } from '@holt/protocol'
import { moment } from '../../foundation/store/moment.ts'
import type { SnapshotRow } from '../../foundation/store/tables.ts'

/** Returns a stored snapshot as the API shows it. */
export function presentSnapshot(row: SnapshotRow): Snapshot {
  return {
    snapshot_id: row.snapshot_id as Snapshot['snapshot_id'],
    name: row.name,
    kind: row.kind,
    record_files: row.record_files === null ? null : row.record_files === 1,
    state: row.state,
    state_reason: row.state_reason_json === null ? null : JSON.parse(row.state_reason_json),
    runtime_id: row.runtime_id as Snapshot['runtime_id'],
    template: { template_id: row.template_id as Snapshot['template']['template_id'], name: row.template_name },
    isolation: row.isolation,
    cpu: row.cpu,
    memory_mib: row.memory_mib,
    disk_mib: row.disk_mib,
    size_bytes: row.size_bytes,
    created_at: moment(row.created_at),
  }
}
