/** The path below which `holtd` serves the site. */
export const base = '/docs/'
