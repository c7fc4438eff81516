export const ports = `
ALTER TABLE runtimes ADD COLUMN ports_json TEXT NOT NULL DEFAULT '{}';
`
