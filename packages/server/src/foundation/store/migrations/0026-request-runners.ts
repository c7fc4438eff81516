/** The host that runs the request of an idempotency record, and the number of its run. */
export const requestRunners = `
ALTER TABLE idempotency ADD COLUMN runner_host TEXT;
ALTER TABLE idempotency ADD COLUMN runner_epoch INTEGER;
ALTER TABLE idempotency ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
`
