import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TestService } from '../../../sdk/test/support/test-service.ts'

/**
 * A service's program for tests: keeps the state directory as the real one does, and is ready after
 * being asked a few times. FAKE_DAEMON selects a failure. `end` ends at once, `template` ends while
 * it makes the template, and `die` ends after it has reported progress. `stubborn` does not stop,
 * `slow` is never ready, and `classless` has no isolation class. With `names`, doctor prints the
 * names of its environment.
 */
const stateDir = process.env.HOLT_STATE_DIR ?? ''
const mode = process.env.FAKE_DAEMON
const questionsUntilReady = 3

const verbs: Readonly<Record<string, () => Promise<void>>> = {
  serve,
  purge: async () => writeFile(join(stateDir, 'purged'), ''),
  doctor: async () => {
    if (mode === 'names') console.log(Object.keys(process.env).join('\n'))
    else console.log(process.argv.includes('--json') ? '{"checks":[]}' : 'ok node')
  },
  settings: async () => console.log(process.env.FAKE_CHANGED ?? '{"changed":[],"since_last_start":[]}'),
  export: async () => console.log(`the rows, for ${process.argv[3]}`),
  import: async () => void process.stdin.pipe(process.stdout),
}
await verbs[process.argv[2] ?? '']?.()

async function serve(): Promise<void> {
  if (mode === 'end') {
    console.error('FIX: free the port')
    process.exit(3)
  }
  if (mode === 'stubborn') process.on('SIGTERM', () => undefined)
  const stat = await readFile('/proc/self/stat', 'utf8')
  const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  await writeFile(join(stateDir, 'holtd.pid'), JSON.stringify({ pid: process.pid, start_time: startTime }))
  await writeFile(join(stateDir, 'running.json'), '{}')
  const service = new TestService(join(stateDir, 'service'))
  service.ready = false
  if (mode === 'classless') {
    service.isolation = {
      gvisor: { available: false, reason: 'runsc fails', fix: null },
      container: { available: false, reason: 'user namespaces are forbidden', fix: 'sysctl -w user.max=1' },
    }
  }
  service.onCall = (route) => {
    if (route !== 'readiness') return
    const asked = service.count('readiness')
    if (mode === 'die' && asked > 2) process.exit(3)
    service.ready = mode !== 'slow' && mode !== 'classless' && asked >= questionsUntilReady
    const progress = service.ready ? null : { phase: 'install packages', done: asked, total: questionsUntilReady }
    const failed =
      mode === 'template'
        ? { state: 'failed', state_reason: { code: 'step_failed', message: 'no mirror answers' }, progress: null }
        : {}
    Object.assign(service.template, { progress, updated_at: new Date().toISOString(), ...failed })
    if (mode === 'template') service.ready = false
  }
  await service.listen(Number(process.env.HOLT_PORT))
  // In one step, as the real one writes it: whoever waits for it reads it at any moment.
  const written = join(stateDir, 'credentials.json.new')
  await writeFile(written, JSON.stringify({ url: service.url, key: service.key }), { mode: 0o600 })
  await rename(written, join(stateDir, 'credentials.json'))
}
