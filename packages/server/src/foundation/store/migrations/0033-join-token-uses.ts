/** The number of joins with each token. */
export const joinTokenUses = `
ALTER TABLE join_tokens ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
`
