import { expect, onTestFinished, test, vi } from 'vitest'
import { Steps } from '../../../examples/quickstart/steps.ts'

test('the quickstart ends with every setting for the next commands, and shows no secret', () => {
  for (const name of Object.keys(process.env).filter((name) => name.startsWith('HOLT_'))) vi.stubEnv(name, undefined)
  vi.stubEnv('HOLT_PORT', '5000')
  vi.stubEnv('HOLT_STATE_DIR', "/srv/ann's")
  vi.stubEnv('HOLT_DATABASE_URL', 'postgres://holt:a-canary@db/holt')
  vi.stubEnv('HOLT_EGRESS_ALLOWED_NETWORKS', '127.0.0.0/8')
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    log.mockRestore()
  })
  new Steps().tellEnd('/result', 'holt')
  expect(log.mock.calls.join('')).toContain(`Next:
  export HOLT_STATE_DIR='/srv/ann'\\''s'   # where this Holt keeps everything
  export HOLT_PORT='5000'
  export HOLT_DATABASE_URL=…   # as it is set here
  export HOLT_EGRESS_ALLOWED_NETWORKS='127.0.0.0/8'
  holt run`)
  expect(log.mock.calls.join('')).not.toContain('a-canary')
})
