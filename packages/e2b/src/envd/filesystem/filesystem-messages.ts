import { bool, message, text, uint32 } from '../../proto/fields.ts'

// The messages of the service `filesystem.Filesystem`.

export const PathRequest = message({ path: text })

export const MoveRequest = message({ source: text, destination: text })

export const ListDirRequest = message({ path: text, depth: uint32 })

export const WatchRequest = message({ path: text, recursive: bool, includeEntry: bool })

export const WatcherRequest = message({ watcherId: text })
