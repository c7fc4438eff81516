/**
 * The tokens with which workers join a fleet, and the trust of each host. `public_key` is the key
 * that a worker proves when it joins again.
 */
export const workers = `
CREATE TABLE join_tokens (
  token_id TEXT PRIMARY KEY,
  digest TEXT NOT NULL,
  is_single_use INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE hosts ADD COLUMN trust TEXT NOT NULL DEFAULT 'entry';
ALTER TABLE hosts ADD COLUMN public_key TEXT;
`
