export const first = `
CREATE TABLE projects (
  project_id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  key_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE,
  scopes_json TEXT NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT;

CREATE TABLE templates (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  template_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects,
  name TEXT NOT NULL,
  tag TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  state_reason_json TEXT,
  source TEXT NOT NULL,
  recipe_digest TEXT,
  image_digest TEXT,
  checkpoint_id TEXT,
  seed_id TEXT,
  cpu REAL NOT NULL,
  memory_mib INTEGER NOT NULL,
  disk_mib INTEGER NOT NULL,
  size_bytes INTEGER,
  env_json TEXT NOT NULL,
  user TEXT NOT NULL,
  workdir TEXT NOT NULL,
  facts_json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  UNIQUE (project_id, name, tag)
) STRICT;

CREATE TABLE runtimes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  runtime_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects,
  name TEXT,
  state TEXT NOT NULL,
  state_reason_json TEXT,
  template_id TEXT NOT NULL,
  template_name TEXT NOT NULL,
  image_digest TEXT NOT NULL,
  checkpoint_id TEXT,
  isolation TEXT NOT NULL,
  cpu REAL NOT NULL,
  memory_mib INTEGER NOT NULL,
  disk_mib INTEGER NOT NULL,
  env_json TEXT NOT NULL,
  metadata_json TEXT NOT NULL,
  user TEXT NOT NULL,
  workdir TEXT NOT NULL,
  timeout_secs INTEGER,
  on_timeout TEXT NOT NULL,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  updated_at INTEGER NOT NULL,
  revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX runtimes_live_name ON runtimes (project_id, name) WHERE name IS NOT NULL AND state NOT IN ('terminated', 'failed');
CREATE INDEX runtimes_live ON runtimes (state) WHERE state NOT IN ('terminated', 'failed');
CREATE INDEX runtimes_deadline ON runtimes (expires_at) WHERE expires_at IS NOT NULL AND state = 'running';
CREATE INDEX runtimes_ended ON runtimes (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runtimes_project ON runtimes (project_id, seq);

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects,
  type TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  data_json TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_subject ON events (project_id, subject_id, seq);
CREATE INDEX events_at ON events (at);

CREATE TABLE idempotency (
  project_id TEXT NOT NULL REFERENCES projects,
  idempotency_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  status INTEGER,
  body TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, idempotency_key)
) STRICT;
CREATE INDEX idempotency_created ON idempotency (created_at);
`
