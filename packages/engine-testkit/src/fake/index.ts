export { FakeEngine } from './fake-engine.ts'
export type { FakeEngineOptions, FakeVerb } from './fake-engine-options.ts'
export type { FakeGuest } from './guest/fake-guest.ts'
