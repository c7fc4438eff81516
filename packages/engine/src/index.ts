export * from './contract.ts'
export type * from './guest-link.ts'
