export { buildIdOf, buildUuid } from './names/build-uuids.ts'
