export * from './contract.ts'
export type * from './guest-link.ts'
export type * from './image-tree.ts'
