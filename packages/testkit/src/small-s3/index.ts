export type { S3Faults } from './s3-faults.ts'
export { SmallS3 } from './small-s3.ts'
