export const consoleSessions = `
CREATE TABLE console_sessions (
  digest TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects,
  key_id TEXT NOT NULL,
  key_version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX console_sessions_expiry ON console_sessions (expires_at);
CREATE INDEX console_sessions_of_key ON console_sessions (key_id, created_at);
`
