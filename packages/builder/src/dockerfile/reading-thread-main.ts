import { parentPort } from 'node:worker_threads'
import { doReading, type ReadingJob } from './reading-job.ts'

/** Runs a thread that reads Dockerfiles: one job after another, each answered once. */
parentPort?.on('message', (job: ReadingJob) => parentPort?.postMessage(doReading(job)))
