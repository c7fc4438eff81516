export const events = `
CREATE TABLE log_positions (
  project_id TEXT PRIMARY KEY,
  last INTEGER NOT NULL,
  removed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE events ADD COLUMN cursor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN key_id TEXT;
UPDATE events SET cursor = numbered.cursor FROM (
  SELECT seq, row_number() OVER (PARTITION BY project_id ORDER BY seq) AS cursor FROM events
) AS numbered WHERE numbered.seq = events.seq;
INSERT INTO log_positions (project_id, last, removed) SELECT project_id, max(cursor), 0 FROM events GROUP BY project_id;
CREATE UNIQUE INDEX events_cursor ON events (project_id, cursor) WHERE cursor > 0;
DROP INDEX events_subject;
CREATE INDEX events_subject ON events (project_id, subject_id, cursor);

CREATE TABLE webhooks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects,
  url TEXT NOT NULL,
  types_json TEXT NOT NULL,
  description TEXT NOT NULL,
  state TEXT NOT NULL,
  state_reason_json TEXT,
  cursor INTEGER NOT NULL,
  secret_version INTEGER NOT NULL,
  rotation_id TEXT,
  previous_until INTEGER,
  failing_since INTEGER,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_project ON webhooks (project_id, seq);

CREATE TABLE webhook_deliveries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  delivery_id TEXT NOT NULL UNIQUE,
  webhook_id TEXT NOT NULL,
  project_id TEXT NOT NULL REFERENCES projects,
  event_id TEXT NOT NULL,
  event_cursor INTEGER,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,
  redelivery_of TEXT,
  tries INTEGER NOT NULL,
  attempts_json TEXT NOT NULL,
  next_attempt_at INTEGER,
  created_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, seq);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_at) WHERE state = 'retrying';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  audit_id TEXT NOT NULL UNIQUE,
  project_id TEXT,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  key_id TEXT,
  key_name TEXT,
  address TEXT NOT NULL,
  route TEXT,
  params_json TEXT NOT NULL,
  subject_id TEXT,
  status INTEGER,
  request_id TEXT,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_project ON audit (project_id, seq);
CREATE INDEX audit_kind ON audit (project_id, kind, seq);
CREATE INDEX audit_at ON audit (at);
`
