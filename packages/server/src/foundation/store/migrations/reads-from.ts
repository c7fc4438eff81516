/**
 * The oldest schemas whose daemons work with a later one, by the number of the migration that makes
 * the later one: its place in `migrations`, from 1. Such a migration only adds: tables, indexes,
 * views, and columns that may be null or have a default. Code that no longer needs a column leaves
 * it for one release. A migration after that removes it. With an absent number, only daemons that
 * know the migration work.
 */
export const readsFrom: Readonly<Record<number, number>> = {
  25: 24,
  26: 24,
  // An older daemon would believe what a worker says of its callers.
  27: 27,
  // An older front would not let a worker take a runtime, and not give it a secret.
  28: 28,
  29: 29,
  30: 29,
  31: 29,
  32: 29,
}
