export const snapshotRecords = `
ALTER TABLE snapshots ADD COLUMN record_files INTEGER;
`
