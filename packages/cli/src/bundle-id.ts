/** The id of the bundle that this program runs from; null: it runs from its sources. The bundler puts the id here. */
export const bundleId: string | null = null
