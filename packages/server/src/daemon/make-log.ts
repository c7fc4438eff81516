import { type DestinationStream, pino } from 'pino'
import type { ServerConfig } from '../config/config.ts'
import type { Log } from '../service.ts'
import { currentRequest } from '../telemetry/request-context.ts'

/**
 * JSON lines on stdout, written before the next step, so that a crash has its reason in the log. Each line that is written for a request has its `request_id`, and its
 * `trace_id` where it is traced.
 */
export function makeLog(
  { logLevel }: Pick<ServerConfig, 'logLevel'>,
  destination: DestinationStream = pino.destination({ fd: 1, sync: true }),
): Log {
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
