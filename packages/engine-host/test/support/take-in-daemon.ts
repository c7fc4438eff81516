import { setInterval } from 'node:timers'
import { GuestClient } from '@holt/guest-client'
import { createHostEngine } from '../../src/index.ts'

// A daemon that writes down a runtime which exists and stays, for tests that kill it.
const { options, id, checkpointId, leaveRunning } = JSON.parse(process.argv[2] ?? '')
const quiet = () => {}
const signal = AbortSignal.timeout(60_000)
const engine = await createHostEngine({ ...options, log: { debug: quiet, info: quiet, warn: quiet, error: quiet } })
await new GuestClient(await engine.dial(id, signal)).quiesce(signal, { force: true })
process.stdout.write('taking\n')
await engine.ability('checkpoints')?.take(id, checkpointId, signal, { leaveRunning })
process.stdout.write('taken\n')
setInterval(quiet, 1_000)
