export * from './fake-engine.ts'
export type { FakeGuest } from './fake-guest.ts'
