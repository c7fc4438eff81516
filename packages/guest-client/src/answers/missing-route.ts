import { EngineError } from '@holt/engine'

/** The error of a guest that does not have a path: one of an earlier version, or a faulty one. */
export class MissingRoute extends EngineError {
  constructor(message: string) {
    super('failed', `the guest failed: route_not_found: ${message}`)
  }
}
