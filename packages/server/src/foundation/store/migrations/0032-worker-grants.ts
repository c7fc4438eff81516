/**
 * The secrets that a worker may give to its runtimes, and the runtimes of others whose programs it
 * continues, until when. Fronts write them. A `subject_id` is the id of either.
 */
export const workerGrants = `
CREATE TABLE worker_grants (
  host_id TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  ends_at INTEGER NOT NULL,
  PRIMARY KEY (host_id, subject_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX worker_grants_end ON worker_grants (ends_at);
`
