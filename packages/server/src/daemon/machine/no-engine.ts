import { once } from 'node:events'
import { type Engine, EngineError, type EngineFacts, type IsolationFacts } from '@holt/engine'

const missing: IsolationFacts = {
  available: false,
  reason: 'this host is a front, which runs no runtimes',
  fix: null,
}

const facts: EngineFacts = {
  engine: 'none',
  arch: process.arch,
  cpus: 0,
  startsAtOnce: 0,
  memoryMiB: 0,
  diskMiB: 0,
  diskFreeMiB: 0,
  isolation: { gvisor: missing, container: missing },
}

/** The engine of a front (`HOLT_ROLE=front`): it has no runtimes, images or checkpoints. */
export const noEngine: Engine = {
  describe: async () => facts,
  ensure: async () => {
    throw new EngineError('not_supported', 'a front runs no runtimes')
  },
  observe: async function* (signal) {
    yield { type: 'listed' }
    if (!signal.aborted) await once(signal, 'abort')
  },
  inspect: async () => null,
  dial: async () => {
    throw new EngineError('not_found', 'a front has no runtimes')
  },
  remove: async () => {},
  ability: () => null,
  close: async () => {},
}
