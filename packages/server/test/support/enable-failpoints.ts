/**
 * Enables the failpoints of this process. A test imports this first: modules read the setting when
 * they are loaded.
 */
process.env.HOLT_FAILPOINTS = `@/tmp/holt-failpoints-${process.pid}-${crypto.randomUUID()}/armed`
