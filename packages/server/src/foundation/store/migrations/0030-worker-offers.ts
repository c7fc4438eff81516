/**
 * The paused runtimes that fronts offer to a worker, until when: it may take no others. And the
 * facts of keys by which a host knows if a vouched caller is still valid.
 */
export const workerOffers = `
CREATE TABLE worker_offers (
  runtime_id TEXT NOT NULL,
  host_id TEXT NOT NULL,
  ends_at INTEGER NOT NULL,
  PRIMARY KEY (runtime_id, host_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX worker_offers_end ON worker_offers (ends_at);

CREATE VIEW known_keys AS SELECT
  key_id, project_id, version, previous_until, revoked_at, expires_at
FROM keys;
`
