/**
 * The host that has the file of a context, and the context of each build. The hosts of a fleet
 * share notes about builds of E2B's clients.
 */
export const fleetBuilds = `
ALTER TABLE build_contexts ADD COLUMN host_id TEXT;
ALTER TABLE builds ADD COLUMN context_id TEXT;
CREATE TABLE build_notes (
  project_id TEXT NOT NULL REFERENCES projects,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, kind, name)
) STRICT, WITHOUT ROWID;
`
