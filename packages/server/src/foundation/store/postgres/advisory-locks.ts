/**
 * The first halves of the keys of advisory locks, four letters of ASCII each. The second half is a
 * hash, with the schema of the tables in it: two stores may be in one database
 * (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS).
 */
const classes = {
  /** "holt": the one daemon of a database that is in no fleet. A session holds it. */
  daemon: 0x686f6c74,
  /** "holm": migrations. */
  migration: 0x686f6c6d,
  /** "hols": changes with the scope `service`. */
  service: 0x686f6c73,
  /** "holp": changes of a project. */
  project: 0x686f6c70,
} as const

/** The class of the lock of a database's daemon. */
export const daemonClass = classes.daemon

/** The second half of the keys that do not depend on a project, in SQL. */
export const schemaHash = 'hashtext(current_schema())'

/** The expression that takes a lock for the rest of the transaction, in SQL. */
export const locked = {
  migration: `pg_advisory_xact_lock(${classes.migration}, ${schemaHash})`,
  service: `pg_advisory_xact_lock(${classes.service}, ${schemaHash})`,
  /** The parts before and after the id of the project, which is an expression of a text. */
  project: [`pg_advisory_xact_lock(${classes.project}, hashtext(current_schema() || '.' || `, '))'],
} as const
