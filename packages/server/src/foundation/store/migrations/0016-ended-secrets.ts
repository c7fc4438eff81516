export const endedSecrets = `
ALTER TABLE keys ADD COLUMN tokens_ended_at INTEGER;
`
