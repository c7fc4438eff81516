export const networkAndSecrets = `
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
`
