export const builds = `
ALTER TABLE templates ADD COLUMN start_cmd TEXT;
ALTER TABLE templates ADD COLUMN ready_cmd TEXT;
ALTER TABLE templates ADD COLUMN on_restore TEXT;
ALTER TABLE templates ADD COLUMN build_id TEXT;
ALTER TABLE templates ADD COLUMN ignored_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE templates ADD COLUMN ports_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE templates ADD COLUMN labels_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE templates ADD COLUMN build_settings_json TEXT;

CREATE TABLE builds (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  build_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects,
  template_id TEXT NOT NULL,
  name TEXT NOT NULL,
  tag TEXT NOT NULL,
  status TEXT NOT NULL,
  reason_json TEXT,
  warnings_json TEXT NOT NULL,
  ignored_json TEXT NOT NULL,
  steps_json TEXT NOT NULL,
  image_digest TEXT,
  size_bytes INTEGER,
  log_cursor INTEGER NOT NULL,
  log_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER
) STRICT;
CREATE INDEX builds_project ON builds (project_id, seq);
CREATE INDEX builds_template ON builds (template_id, seq);
CREATE INDEX builds_live ON builds (status) WHERE status NOT IN ('ready', 'failed', 'cancelled');
CREATE INDEX builds_ended ON builds (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE build_logs (
  build_id TEXT NOT NULL REFERENCES builds (build_id) ON DELETE CASCADE,
  cursor INTEGER NOT NULL,
  line_json TEXT NOT NULL,
  PRIMARY KEY (build_id, cursor)
) STRICT, WITHOUT ROWID;

CREATE TABLE build_resources (
  resource_id TEXT PRIMARY KEY,
  build_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  memory_mib INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX build_resources_build ON build_resources (build_id);

CREATE TABLE build_contexts (
  context_id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects,
  sha256 TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  file_bytes INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  UNIQUE (project_id, sha256)
) STRICT;
CREATE INDEX build_contexts_used ON build_contexts (used_at);

CREATE TABLE build_cache (
  project_id TEXT NOT NULL REFERENCES projects,
  key TEXT NOT NULL,
  type TEXT NOT NULL,
  image_digest TEXT NOT NULL,
  checkpoint_id TEXT,
  size_bytes INTEGER NOT NULL,
  facts_json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, key)
) STRICT;
CREATE INDEX build_cache_used ON build_cache (used_at);

CREATE TABLE build_mounts (
  project_id TEXT NOT NULL REFERENCES projects,
  mount_id TEXT NOT NULL,
  file TEXT NOT NULL UNIQUE,
  size_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, mount_id)
) STRICT;

CREATE TABLE pulled_images (
  project_id TEXT NOT NULL REFERENCES projects,
  key TEXT NOT NULL,
  image_digest TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  settings_json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, key)
) STRICT;
`
