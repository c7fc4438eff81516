import { type Engine, EngineError, type GuestLink, type RuntimeId } from '@holt/engine'

/**
 * The time for a guest to connect again, in milliseconds. It takes milliseconds, and seconds on a
 * busy machine.
 */
const REDIAL_TIMEOUT_MS = 20_000

/**
 * Returns the link to a runtime of a build. A request on it waits for a guest that is about to
 * connect again, as it does after every checkpoint.
 */
export async function redialledLink(
  engine: Pick<Engine, 'dial'>,
  id: RuntimeId,
  signal: AbortSignal,
): Promise<GuestLink> {
  const link = await engine.dial(id, signal)
  return {
    get connected() {
      return link.connected
    },
    request: async (request) => {
      if (!link.connected) await waitForGuest(engine, id, request.signal)
      return link.request(request)
    },
  }
}

async function waitForGuest(engine: Pick<Engine, 'dial'>, id: RuntimeId, signal: AbortSignal): Promise<void> {
  try {
    await engine.dial(id, AbortSignal.any([signal, AbortSignal.timeout(REDIAL_TIMEOUT_MS)]))
  } catch (cause) {
    signal.throwIfAborted()
    throw new EngineError('unavailable', 'the guest is not connected', { cause })
  }
}
