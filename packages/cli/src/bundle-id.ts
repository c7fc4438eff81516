/**
 * The id of the bundle that contains this program, which the bundler inserts. Null if it runs from
 * its sources.
 */
export const bundleId: string | null = null
