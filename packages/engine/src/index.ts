export * from './contract.ts'
export * from './guest/index.ts'
export type * from './guest-link.ts'
