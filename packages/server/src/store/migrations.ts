/** The schema's history: each entry runs once, in order, in a transaction of its own. Entries are never changed, only added. */
export const migrations: readonly string[] = [
  `
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
  `,
  `
  ALTER TABLE runtimes ADD COLUMN ports_json TEXT NOT NULL DEFAULT '{}';
  `,
  `
  CREATE TABLE policies (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    policy_id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects,
    name TEXT NOT NULL,
    body_json TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
  ) STRICT;

  CREATE TABLE providers (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects,
    name TEXT NOT NULL,
    settings_json TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
  ) STRICT;

  CREATE TABLE secrets (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    secret_id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    provider_id TEXT REFERENCES providers (provider_id),
    hosts_json TEXT NOT NULL,
    header TEXT,
    format TEXT,
    inside INTEGER NOT NULL,
    env_name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX secrets_name ON secrets (project_id, name) WHERE deleted_at IS NULL;

  CREATE TABLE signing_keys (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kid TEXT NOT NULL UNIQUE,
    algorithm TEXT NOT NULL,
    public_jwk_json TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE sealed_values (
    owner_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    project_id TEXT REFERENCES projects,
    version INTEGER NOT NULL,
    master_key_id TEXT NOT NULL,
    sealed TEXT NOT NULL,
    PRIMARY KEY (owner_id, purpose)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE runtime_networks (
    runtime_id TEXT PRIMARY KEY REFERENCES runtimes (runtime_id) ON DELETE CASCADE,
    project_id TEXT NOT NULL REFERENCES projects,
    policy_id TEXT,
    inline_json TEXT,
    ca_certificate TEXT NOT NULL,
    guest_has_it INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX runtime_networks_policy ON runtime_networks (project_id, policy_id) WHERE policy_id IS NOT NULL;

  CREATE TABLE runtime_secrets (
    runtime_id TEXT NOT NULL REFERENCES runtimes (runtime_id) ON DELETE CASCADE,
    project_id TEXT NOT NULL REFERENCES projects,
    secret_id TEXT NOT NULL REFERENCES secrets (secret_id),
    placeholder TEXT,
    position INTEGER NOT NULL,
    PRIMARY KEY (runtime_id, secret_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX runtime_secrets_secret ON runtime_secrets (secret_id);

  CREATE TABLE runtime_addresses (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    runtime_id TEXT NOT NULL REFERENCES runtimes (runtime_id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (runtime_id, address)
  ) STRICT;

  CREATE TABLE decisions (
    runtime_id TEXT NOT NULL REFERENCES runtimes (runtime_id) ON DELETE CASCADE,
    cursor INTEGER NOT NULL,
    project_id TEXT NOT NULL REFERENCES projects,
    item_json TEXT NOT NULL,
    PRIMARY KEY (runtime_id, cursor)
  ) STRICT, WITHOUT ROWID;
  `,
  `
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
  `,
  `
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
  `,
]
