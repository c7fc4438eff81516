export const lifecycle = `
ALTER TABLE runtimes ADD COLUMN idle_timeout_secs INTEGER;
ALTER TABLE runtimes ADD COLUMN auto_resume INTEGER NOT NULL DEFAULT 1;
ALTER TABLE runtimes ADD COLUMN pause_checkpoint_id TEXT;
ALTER TABLE runtimes ADD COLUMN paused_at INTEGER;
ALTER TABLE runtimes ADD COLUMN snapshot_id TEXT;
ALTER TABLE runtimes ADD COLUMN parent_id TEXT;
ALTER TABLE runtimes ADD COLUMN creation_id TEXT;
ALTER TABLE runtimes ADD COLUMN source_json TEXT NOT NULL DEFAULT '{"env":{},"commands":{"startCmd":null,"readyCmd":null,"onRestore":null}}';
UPDATE runtimes SET source_json = json_object(
  'env', json(templates.env_json),
  'commands', json_object('startCmd', start_cmd, 'readyCmd', ready_cmd, 'onRestore', on_restore)
) FROM templates WHERE templates.template_id = runtimes.template_id;
CREATE UNIQUE INDEX runtimes_creation ON runtimes (creation_id) WHERE creation_id IS NOT NULL;

CREATE TABLE snapshots (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  snapshot_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects,
  name TEXT,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  state_reason_json TEXT,
  runtime_id TEXT NOT NULL,
  template_id TEXT NOT NULL,
  template_name TEXT NOT NULL,
  isolation TEXT NOT NULL,
  image_digest TEXT NOT NULL,
  checkpoint_id TEXT,
  cpu REAL NOT NULL,
  memory_mib INTEGER NOT NULL,
  disk_mib INTEGER NOT NULL,
  size_bytes INTEGER,
  settings_json TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX snapshots_project ON snapshots (project_id, seq);
CREATE UNIQUE INDEX snapshots_name ON snapshots (project_id, name) WHERE name IS NOT NULL AND state <> 'failed';

CREATE TABLE pool_members (
  runtime_id TEXT PRIMARY KEY,
  template_id TEXT NOT NULL,
  isolation TEXT NOT NULL,
  image_digest TEXT NOT NULL,
  checkpoint_id TEXT,
  cpu REAL NOT NULL,
  memory_mib INTEGER NOT NULL,
  disk_mib INTEGER NOT NULL,
  state TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`
