/**
 * A table of hosts, and which host owns each row that is about one machine. The first start of the
 * service gives itself the rows without a host. Results of builds lie on the disk of one host, so
 * their keys have the host. SQLite cannot change the key of a table, so these are made again.
 */
export const hosts = `
CREATE TABLE hosts (
  host_id TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL,
  beat INTEGER NOT NULL,
  state TEXT NOT NULL,
  wanted TEXT NOT NULL,
  address TEXT NOT NULL,
  class_id TEXT,
  protocol_min INTEGER NOT NULL,
  protocol_max INTEGER NOT NULL,
  version TEXT NOT NULL,
  key_ids TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  clock_offset INTEGER,
  facts_json TEXT NOT NULL,
  node TEXT,
  zone TEXT,
  joined_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE duties (
  name TEXT PRIMARY KEY,
  host_id TEXT NOT NULL,
  host_epoch INTEGER NOT NULL,
  turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE runtimes ADD COLUMN host_id TEXT;
ALTER TABLE runtimes ADD COLUMN host_epoch INTEGER;
ALTER TABLE runtimes ADD COLUMN near_host_id TEXT;
CREATE INDEX runtimes_of_host ON runtimes (host_id) WHERE ended_at IS NULL;
ALTER TABLE pool_members ADD COLUMN host_id TEXT;
ALTER TABLE pool_members ADD COLUMN host_epoch INTEGER;
ALTER TABLE builds ADD COLUMN host_id TEXT;
ALTER TABLE builds ADD COLUMN host_epoch INTEGER;
ALTER TABLE build_resources ADD COLUMN host_id TEXT;
ALTER TABLE build_resources ADD COLUMN host_epoch INTEGER;
ALTER TABLE snapshots ADD COLUMN host_id TEXT;
ALTER TABLE snapshots ADD COLUMN host_epoch INTEGER;

CREATE TEMPORARY TABLE former_cache AS SELECT * FROM build_cache;
DROP TABLE build_cache;
CREATE TABLE build_cache (
  project_id TEXT NOT NULL REFERENCES projects,
  key TEXT NOT NULL,
  host_id TEXT NOT NULL,
  type TEXT NOT NULL,
  image_digest TEXT NOT NULL,
  checkpoint_id TEXT,
  size_bytes INTEGER NOT NULL,
  facts_json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, key, host_id)
) STRICT;
CREATE INDEX build_cache_used ON build_cache (used_at);
INSERT INTO build_cache
  SELECT project_id, key, '', type, image_digest, checkpoint_id, size_bytes, facts_json, created_at, used_at
  FROM former_cache;
DROP TABLE former_cache;

CREATE TEMPORARY TABLE former_mounts AS SELECT * FROM build_mounts;
DROP TABLE build_mounts;
CREATE TABLE build_mounts (
  project_id TEXT NOT NULL REFERENCES projects,
  mount_id TEXT NOT NULL,
  host_id TEXT NOT NULL,
  file TEXT NOT NULL UNIQUE,
  size_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, mount_id, host_id)
) STRICT;
INSERT INTO build_mounts
  SELECT project_id, mount_id, '', file, size_bytes, created_at, used_at FROM former_mounts;
DROP TABLE former_mounts;

CREATE TEMPORARY TABLE former_images AS SELECT * FROM pulled_images;
DROP TABLE pulled_images;
CREATE TABLE pulled_images (
  project_id TEXT NOT NULL REFERENCES projects,
  key TEXT NOT NULL,
  host_id TEXT NOT NULL,
  image_digest TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  settings_json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, key, host_id)
) STRICT;
INSERT INTO pulled_images
  SELECT project_id, key, '', image_digest, size_bytes, settings_json, created_at, used_at FROM former_images;
DROP TABLE former_images;
`
