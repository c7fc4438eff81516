import { type DestinationStream, pino } from 'pino'
import type { ServerConfig } from '../config/config.ts'
import type { Log } from '../service.ts'
import { currentRequest } from '../telemetry/request-context.ts'

/** Lines that wait for a disk that is full; those that come after them are lost. */
const maxWaitingBytes = 2 ** 20

/** Stdout, which may be a file on a disk that fills up: that keeps lines from the log, and is no reason to end. */
function stdout(): DestinationStream {
  const destination = pino.destination({ fd: 1, sync: true, maxLength: maxWaitingBytes })
  destination.on('error', () => {}) // Whoever listens is told again with each line that is tried.
  return destination
}

/**
 * JSON lines on stdout, written before the next step, so that a crash has its reason in the log. Each line that is written for a request has its `request_id`, and its
 * `trace_id` where it is traced.
 */
export function makeLog({ logLevel }: Pick<ServerConfig, 'logLevel'>, destination: DestinationStream = stdout()): Log {
  return pino(
    { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin: requestFacts },
    destination,
  )
}

function requestFacts(): object {
  const { requestId = '', span = null } = currentRequest() ?? {}
  return {
    ...(requestId === '' ? {} : { request_id: requestId }),
    ...(span === null ? {} : { trace_id: span.traceId }),
  }
}
