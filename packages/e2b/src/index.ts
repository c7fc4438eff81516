export {
  type Entry,
  type EntryFacts,
  type EntryNames,
  entryOf,
  envdPort,
  sandboxHeaders,
  splitTarget,
} from './entry/entry-of.ts'
export { E2bError, portClosed, sandboxGone, wrongToken } from './errors/e2b-error.ts'
export { buildIdOf, buildUuid } from './names/build-uuids.ts'
export {
  type ControlMatch,
  type ControlRouteName,
  controlRoutes,
  isAbsentPath,
  isControlPath,
  matchControl,
} from './routes/control-routes.ts'
export { admissionOf, type EnvdRouteName, envdRoutes, matchEnvd } from './routes/envd-routes.ts'
export type { PathMatch } from './routes/match-path.ts'
