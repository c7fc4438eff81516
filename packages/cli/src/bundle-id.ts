/**
 * The id of the bundle that this program runs from, which the bundler inserts. Null: it runs from
 * its sources.
 */
export const bundleId: string | null = null
