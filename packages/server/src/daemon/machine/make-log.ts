import { type DestinationStream, pino } from 'pino'
import type { ServerConfig } from '../../foundation/config/config.ts'
import type { Log } from '../../foundation/log.ts'
import { currentRequest } from '../../foundation/request/request-context.ts'
import { LogFlood } from './log-flood.ts'

/** The maximum number of bytes of lines that wait for a full disk. Later lines are lost. */
const maxWaitingBytes = 2 ** 20

/** The number of warnings (pino's levels); errors are above. */
const warnLevel = 40

/** The maximum number of characters of an error's message and of its stack. */
const maxErrorTextLength = 3_000

/**
 * Returns stdout, which may be a file on a full disk. Log lines are lost then, and the service
 * continues.
 */
function stdout(): DestinationStream {
  const destination = pino.destination({ fd: 1, sync: true, maxLength: maxWaitingBytes })
  destination.on('error', () => {}) // The error occurs again with each line.
  return destination
}

/**
 * Returns a log that writes JSON lines to stdout. It writes synchronously, so that the reason of a
 * crash is in the log. Each line of a request has its `request_id`, and its `trace_id` if it is
 * traced. Repeated messages are omitted, and later lines count them as `left_out`.
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
 * Returns the facts of an error for one line. Its message may come from a guest and have any
 * length. Its details belong to a client and are omitted.
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
