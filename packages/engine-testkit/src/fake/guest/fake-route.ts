import type { GuestRequest } from '@holt/engine'
import type { FakeAnswer } from './fake-answer.ts'
import type { FakeBaselines } from './fake-baselines.ts'
import type { FakeChanges } from './fake-changes.ts'
import type { FakeFiles } from './fake-files.ts'
import type { FakeIdentity } from './fake-identity.ts'
import type { FakeOperations } from './fake-operations.ts'
import type { FakePorts } from './fake-ports.ts'
import type { FakeProcesses } from './fake-processes.ts'
import type { FakeTrees } from './fake-trees.ts'

/** The parts of a fake guest that answer requests. */
export interface FakeParts {
  readonly files: FakeFiles
  readonly trees: FakeTrees
  readonly processes: FakeProcesses
  readonly ports: FakePorts
  readonly changes: FakeChanges
  readonly identity: FakeIdentity
  readonly operations: FakeOperations
  readonly baselines: FakeBaselines
  /** Breaks the connection. */
  readonly disconnect: () => void
}

/** A request to a route. */
interface Asked {
  /** The part of the path that the pattern captures. */
  readonly name: string
  readonly query: URLSearchParams
  readonly body: Buffer
  readonly request: GuestRequest
}

/** A route of the guest protocol. */
export interface FakeRoute {
  readonly method: GuestRequest['method']
  readonly pattern: RegExp
  readonly handle: (parts: FakeParts, asked: Asked) => FakeAnswer | Promise<FakeAnswer>
}

/** Returns a body as JSON. The fake does not check its shape. */
export const json = (body: Buffer) => JSON.parse(body.toString())
