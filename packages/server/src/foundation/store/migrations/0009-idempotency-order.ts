export const idempotencyOrder = `
CREATE INDEX idempotency_project ON idempotency (project_id, created_at);
`
