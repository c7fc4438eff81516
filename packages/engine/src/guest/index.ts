export * from './guest-client.ts'
export * from './read-items.ts'
export * from './schemas.ts'
