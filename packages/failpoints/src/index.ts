export { type FailpointName, failpoint, failpointNames, failpoints, failpointsAreArmed } from './failpoints.ts'
