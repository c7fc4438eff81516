import { type DestinationStream, pino } from 'pino'
import type { ServerConfig } from '../config/config.ts'
import type { Log } from '../service.ts'
import { currentRequest } from '../telemetry/request-context.ts'
import { LogFlood } from './log-flood.ts'

/** Lines that wait for a disk that is full; those that come after them are lost. */
const maxWaitingBytes = 2 ** 20

/** The number of warnings (pino's levels); errors are above. */
const warnLevel = 40

/** So much of an error's message and of its stack is written, in characters. */
const maxErrorTextLength = 3_000

/**
 * Stdout, which may be a file on a disk that fills up: that keeps lines from the log, and is no
 * reason to end.
 */
function stdout(): DestinationStream {
  const destination = pino.destination({ fd: 1, sync: true, maxLength: maxWaitingBytes })
  destination.on('error', () => {}) // Whoever listens is told again with each line that is tried.
  return destination
}

/**
 * JSON lines on stdout, written before the next step, so that a crash has its reason in the log.
 * Each line that is written for a request has its `request_id`, and its `trace_id` where it is
 * traced. What is said again and again is left out, which later lines count as `left_out`.
 */
export function makeLog({ logLevel }: Pick<ServerConfig, 'logLevel'>, destination: DestinationStream = stdout()): Log {
  const flood = new LogFlood()
  return pino(
    {
      level: logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      mixin: requestFacts,
      serializers: { err: shortError },
      hooks: {
        logMethod([facts, message = ''], write, level) {
          const leftOut = level < warnLevel ? 0 : flood.admit(message)
          if (leftOut === null) return
          write.call(this, leftOut === 0 ? facts : { ...(facts as object), left_out: leftOut }, message)
        },
      },
    },
    destination,
  )
}

/**
 * What there is to say of an error on one line. Its words may be a guest's, of any length; its
 * details are a client's.
 */
function shortError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error).slice(0, maxErrorTextLength)
  const facts: Record<string, string | number> = {}
  for (const [name, value] of Object.entries<unknown>(pino.stdSerializers.err(error))) {
    if (typeof value === 'string') facts[name] = value.slice(0, maxErrorTextLength)
    else if (typeof value === 'number') facts[name] = value
  }
  return facts
}

function requestFacts(): object {
  const { requestId = '', span = null } = currentRequest() ?? {}
  return {
    ...(requestId === '' ? {} : { request_id: requestId }),
    ...(span === null ? {} : { trace_id: span.traceId }),
  }
}
