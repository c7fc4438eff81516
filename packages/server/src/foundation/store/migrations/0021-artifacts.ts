/**
 * The images and checkpoints of a fleet, and the objects that are still to be removed from its
 * object store. Holds keep artifacts that no other row refers to. A template has a checkpoint for
 * each class of hosts. A machine that is in no fleet has no rows in these tables.
 */
export const artifacts = `
CREATE TABLE artifacts (
  artifact_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  class_id TEXT,
  description_digest TEXT,
  state TEXT NOT NULL,
  host_id TEXT,
  made_at INTEGER NOT NULL,
  stored_at INTEGER,
  unneeded_since INTEGER,
  condemned_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_local ON artifacts (host_id) WHERE state = 'local';

CREATE TABLE artifact_trash (
  artifact_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  condemned_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE artifact_holds (
  artifact_id TEXT NOT NULL,
  holder TEXT NOT NULL,
  host_id TEXT NOT NULL,
  host_epoch INTEGER NOT NULL,
  PRIMARY KEY (artifact_id, holder)
) STRICT, WITHOUT ROWID;

CREATE TABLE template_checkpoints (
  template_id TEXT NOT NULL,
  class_id TEXT NOT NULL,
  checkpoint_id TEXT NOT NULL,
  image_digest TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  PRIMARY KEY (template_id, class_id)
) STRICT, WITHOUT ROWID;
`
