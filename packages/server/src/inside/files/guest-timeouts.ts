/** The time for the guest to handle a file or a page of entries, in milliseconds. */
export const answerTimeoutMs = 60_000

/**
 * The time for the guest to handle a whole tree, in milliseconds. If the client disconnects first,
 * the guest reverts the change.
 */
export const treeTimeoutMs = 60 * 60_000
