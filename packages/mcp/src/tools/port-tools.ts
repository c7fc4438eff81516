import { z } from 'zod'
import { jsonResult } from '../results/results.ts'
import { runtimeTool, type Tool } from './tool.ts'

const expose = runtimeTool({
  name: 'expose_port',
  title: 'Get the URL of a port',
  description:
    'Returns a URL for the HTTP server that listens on a port of the runtime. Anyone who has the URL can open it until it expires.',
  routes: ['getRuntime', 'getPort'],
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  fields: {
    port: z.number().int().min(1).max(65_535).describe('The port inside the runtime.'),
    wait_secs: z
      .number()
      .min(0)
      .max(50)
      .default(10)
      .describe('The seconds to wait until a server listens. Default 10.'),
    expires_in_secs: z
      .number()
      .int()
      .min(1)
      .max(2_592_000)
      .default(3600)
      .describe('The lifetime of the URL in seconds. Default 3600.'),
  },
  run: async ({ port, ...options }, { runtime, session, signal }) => {
    const found = await runtime.ports.get(port, { ...options, signal })
    const url = new URL(new URL(found.path_url).pathname, session.address)
    if (!found.public) url.searchParams.set('holt_token', found.token)
    return jsonResult({ url: url.href, listening: found.listening, public: found.public, expires_at: found.expires_at })
  },
})

/** The tools of ports. */
export const portTools: readonly Tool[] = [expose]
