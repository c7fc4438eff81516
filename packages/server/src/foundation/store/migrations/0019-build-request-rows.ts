/**
 * A table without row ids reads the whole text of each row that it compares. The sum of the sizes
 * of a project's requests must not read the requests.
 */
export const buildRequestRows = `
CREATE TABLE moved_requests AS SELECT build_id, request_bytes, request_json FROM build_requests;
DROP TABLE build_requests;
CREATE TABLE build_requests (
  build_id TEXT PRIMARY KEY REFERENCES builds (build_id) ON DELETE CASCADE,
  request_bytes INTEGER NOT NULL,
  request_json TEXT NOT NULL
) STRICT;
INSERT INTO build_requests (build_id, request_bytes, request_json) SELECT build_id, request_bytes, request_json FROM moved_requests;
DROP TABLE moved_requests;
`
