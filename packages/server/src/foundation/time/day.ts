/** A day of 24 hours, in milliseconds. The unit of retention times. */
export const dayMs = 24 * 3600 * 1000
