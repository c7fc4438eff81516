export const sandboxes = `
ALTER TABLE runtimes ADD COLUMN made_by_key_id TEXT;
ALTER TABLE runtimes ADD COLUMN token_generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runtimes ADD COLUMN e2b_json TEXT;
CREATE INDEX runtimes_made_by ON runtimes (made_by_key_id) WHERE ended_at IS NULL;
`
