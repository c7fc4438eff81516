/**
 * The projects for which fronts have sent requests to a worker, until when. And the facts of
 * runtimes that every host needs of those of the others: for quotas, names, owners, and files that
 * rows refer to. A worker reads no more of them.
 */
export const workerErrands = `
CREATE TABLE worker_errands (
  host_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  ends_at INTEGER NOT NULL,
  PRIMARY KEY (host_id, project_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX worker_errands_end ON worker_errands (ends_at);

CREATE VIEW known_runtimes AS SELECT
  runtime_id, project_id, name, state, image_digest, origin_image_digest, checkpoint_id, pause_checkpoint_id,
  cpu, memory_mib, disk_mib, auto_resume, host_id, host_epoch, near_host_id
FROM runtimes;
`
