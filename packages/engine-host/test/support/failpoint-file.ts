/**
 * The file that arms the failpoints of this process. A test imports this first: modules read the
 * setting when they are loaded.
 */
export const failpointFile = `/tmp/holt-failpoints-${process.pid}-${crypto.randomUUID()}`

process.env.HOLT_FAILPOINTS = `@${failpointFile}`
