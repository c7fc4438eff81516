/**
 * The project `prholt…` is the service's own. It owns the templates that Holt itself provides, so
 * that every project reads them and none writes them. Cached states of earlier builds stay with the
 * project that had them. The next build of the same Dockerfile therefore starts from the beginning
 * once.
 */
export const projects = `
ALTER TABLE projects ADD COLUMN quotas_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE projects ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN deleted_at INTEGER;
UPDATE projects SET updated_at = created_at;
INSERT INTO projects (project_id, name, created_at, updated_at) VALUES ('prholt0000000000000000', 'prholt0000000000000000', 0, 0);
UPDATE builds SET project_id = 'prholt0000000000000000' WHERE template_id IN (SELECT template_id FROM templates WHERE kind IN ('system', 'agent'));
UPDATE templates SET project_id = 'prholt0000000000000000' WHERE kind IN ('system', 'agent');

ALTER TABLE keys ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE keys ADD COLUMN rotation_id TEXT;
ALTER TABLE keys ADD COLUMN rotated_at INTEGER;
ALTER TABLE keys ADD COLUMN previous_digest TEXT;
ALTER TABLE keys ADD COLUMN previous_until INTEGER;
CREATE UNIQUE INDEX keys_previous ON keys (previous_digest) WHERE previous_digest IS NOT NULL;
UPDATE keys SET scopes_json = '["admin","operator"]' WHERE name = 'admin of this machine' AND scopes_json = '["admin"]' AND revoked_at IS NULL;

ALTER TABLE build_resources ADD COLUMN cpu REAL NOT NULL DEFAULT 0;
ALTER TABLE build_resources ADD COLUMN disk_mib INTEGER NOT NULL DEFAULT 0;

CREATE INDEX runtimes_live_project ON runtimes (project_id, state) WHERE state NOT IN ('terminated', 'failed');
CREATE INDEX builds_live_project ON builds (project_id) WHERE ended_at IS NULL;
`
