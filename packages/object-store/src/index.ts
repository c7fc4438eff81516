export type {
  ByteRange,
  CallOptions,
  GetOptions,
  ListedObject,
  ObjectBody,
  ObjectFacts,
  ObjectStore,
  OpenObject,
  PutOptions,
} from './contract/object-store.ts'
export { ObjectStoreError, type ObjectStoreErrorKind } from './contract/object-store-error.ts'
export { checkObjectStoreUrl, type ObjectStoreOptions, openObjectStore } from './open-object-store.ts'
