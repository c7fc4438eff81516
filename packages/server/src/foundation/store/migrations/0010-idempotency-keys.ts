export const idempotencyKeys = `
ALTER TABLE idempotency ADD COLUMN key_id TEXT;
CREATE INDEX idempotency_key_order ON idempotency (project_id, key_id, created_at);
CREATE INDEX idempotency_refused ON idempotency (project_id, created_at) WHERE status >= 400;
CREATE INDEX idempotency_key_refused ON idempotency (project_id, key_id, created_at) WHERE status >= 400;
`
