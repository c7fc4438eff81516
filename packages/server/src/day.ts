/** A day of 24 hours: what is kept for days is measured by it. */
export const dayMs = 24 * 3600 * 1000
