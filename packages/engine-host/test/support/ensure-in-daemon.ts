import { setInterval } from 'node:timers'
import { createHostEngine } from '../../src/index.ts'

// A daemon that makes one runtime and stays, for tests that kill it.
const { options, spec } = JSON.parse(process.argv[2] ?? '')
const quiet = () => {}
const engine = await createHostEngine({ ...options, log: { debug: quiet, info: quiet, warn: quiet, error: quiet } })
process.stdout.write('starting\n')
await engine.ensure(spec, AbortSignal.timeout(60_000))
process.stdout.write('ensured\n')
setInterval(quiet, 1_000)
