import { type Engine, EngineError, type GuestLink, type RuntimeId } from '@holt/engine'

/** A guest that lives dials again within milliseconds, on a machine that is busy within seconds. */
const REDIAL_TIMEOUT_MS = 20_000

/**
 * The link to a runtime of a build, over which a request waits for a guest that is about to dial
 * again: it does whenever the runtime was written down.
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
