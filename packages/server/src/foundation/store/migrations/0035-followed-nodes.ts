/** A host may be cordoned or drained because its Node of Kubernetes is. */
export const followedNodes = `
ALTER TABLE hosts ADD COLUMN follows_node INTEGER NOT NULL DEFAULT 0;
`
