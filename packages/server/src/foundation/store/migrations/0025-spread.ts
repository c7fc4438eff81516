/** The label of runtimes of a project that are kept on different hosts. */
export const spread = `
ALTER TABLE runtimes ADD COLUMN spread TEXT;
`
