/** The end of the time that the runtimes of a host that is emptied get, if they cannot move. */
export const drains = `
ALTER TABLE hosts ADD COLUMN drain_until INTEGER;
`
