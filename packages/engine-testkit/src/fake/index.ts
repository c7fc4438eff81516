export * from './fake-engine.ts'
export type { FakeGuest } from './guest/fake-guest.ts'
