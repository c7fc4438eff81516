export * from './contract.ts'
export { type FailpointName, failpoint, failpointNames, failpoints, failpointsAreArmed } from './failpoints.ts'
export * from './guest/index.ts'
export type * from './guest-link.ts'
