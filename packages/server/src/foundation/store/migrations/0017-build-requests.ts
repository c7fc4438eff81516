export const buildRequests = `
CREATE TABLE build_requests (
  build_id TEXT PRIMARY KEY REFERENCES builds (build_id) ON DELETE CASCADE,
  request_json TEXT NOT NULL,
  request_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`
