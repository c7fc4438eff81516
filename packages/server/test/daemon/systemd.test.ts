import { execFile, spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { lacks } from '../../../builder/test/support/machine.ts'
import { findManager } from '../../src/daemon/tell-manager.ts'
import { startHoltd } from '../support/start-holtd.ts'
import { keepingLog } from '../support/start-test-server.ts'

const run = promisify(execFile)
const units = fileURLToPath(new URL('../../../../deploy/systemd', import.meta.url))
const unit = join(units, 'holtd.service')
const unitOfRuntimes = join(units, 'holt-runtimes.service')
const unitOfDrain = join(units, 'holt-drain.service')
const hasAnalyze = await run('systemd-analyze', ['--version']).then(
  () => true,
  () => false,
)

/** A directory that goes with the test. */
async function makeDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-systemd-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** Directives that give a service a mount namespace (systemd.exec(5)). */
const ofMountNamespace =
  /^(?:PrivateTmp|PrivateDevices|PrivateMounts|PrivateUsers|PrivateNetwork|ProtectSystem|ProtectHome|ProtectProc|ProtectKernelTunables|ProtectKernelModules|ProtectKernelLogs|ProtectControlGroups|ReadOnlyPaths|ReadWritePaths|InaccessiblePaths|NoExecPaths|TemporaryFileSystem|BindPaths|RootDirectory|RootImage|DynamicUser|MountFlags)=/m

/** Directives that filter system calls, which runtimes would inherit. */
const ofFilters =
  /^(?:SystemCallFilter|SystemCallArchitectures|MemoryDenyWriteExecute|RestrictNamespaces|RestrictSUIDSGID|RestrictRealtime|RestrictAddressFamilies|LockPersonality|ProtectHostname|ProtectClock)=/m

test('the unit does not restrict mounts and system calls of runtimes', async () => {
  const text = await readFile(unit, 'utf8')
  expect(text).not.toMatch(ofMountNamespace)
  expect(text).not.toMatch(ofFilters)
  expect(text).toMatch(/^KillMode=process$/m)
  expect(text).toMatch(/^Delegate=yes$/m)
})

test('the unit has no start timeout, because a migration can take long', async () => {
  const text = await readFile(unit, 'utf8')
  expect(text.match(/^TimeoutStartSec=.*$/gm)).toEqual(['TimeoutStartSec=infinity'])
  expect(text).not.toMatch(/^TimeoutSec=/m)
})

test('the unit does not restart a service with wrong settings', async () => {
  expect(await readFile(unit, 'utf8')).toMatch(/^RestartPreventExitStatus=2$/m)
})

test('runtimes survive a stop of the service, and end before their disks are unmounted', async () => {
  const [service, runtimes] = await Promise.all([unit, unitOfRuntimes].map((path) => readFile(path, 'utf8')))
  expect(service).toMatch(/^Wants=.*\bholt-runtimes\.service$/m)
  expect(service).toMatch(/^After=.*\bholt-runtimes\.service$/m)
  expect(runtimes).toMatch(/^RemainAfterExit=yes$/m)
  expect(runtimes).toMatch(/^After=local-fs\.target$/m)
  expect(runtimes).not.toMatch(/^(?:PartOf|BindsTo|Requires)=/m)
  const settings = /^(?:Environment|EnvironmentFile|RequiresMountsFor|WorkingDirectory)=.*$/gm
  expect(runtimes?.match(settings)).toEqual(service?.match(settings))
})

test('a machine that goes down drains while the service runs, and a restart of the service drains nothing', async () => {
  const [service, drain] = await Promise.all([unit, unitOfDrain].map((path) => readFile(path, 'utf8')))
  expect(drain).toMatch(/^After=holtd\.service$/m)
  expect(drain).toMatch(/^WantedBy=holtd\.service$/m)
  expect(drain).toMatch(/^RemainAfterExit=yes$/m)
  // A start that fails must not keep the stop from draining (systemd.service(5), ExecStop).
  expect(drain).toMatch(/^ExecStart=-/m)
  expect(drain).not.toMatch(/^(?:PartOf|BindsTo|Requires|Before)=/m)
  expect(service).not.toContain('holt-drain')
  const settings = /^(?:Environment|EnvironmentFile|RequiresMountsFor|WorkingDirectory)=.*$/gm
  expect(drain?.match(settings)).toEqual(service?.match(settings))
})

test.each([
  [unit, /^ExecStart=(\S+) serve$/m],
  [unitOfRuntimes, /^ExecStop=(\S+) halt$/m],
  [unitOfDrain, /^ExecStart=-(\S+) return$/m],
  [unitOfDrain, /^ExecStop=(\S+) leave$/m],
])('%s starts the installed program', async (path, command) => {
  const [, program = ''] = command.exec(await readFile(path, 'utf8')) ?? []
  const root = fileURLToPath(new URL('../../../../', import.meta.url))
  const { stdout } = await run(program.replace('/opt/holt/', root), ['version'], { cwd: '/' })
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test.skipIf(!hasAnalyze)(
  `systemd accepts every line of the units (${hasAnalyze ? 'ready' : 'no systemd-analyze'})`,
  async () => {
    const dir = await makeDir()
    const here = [unit, unitOfRuntimes, unitOfDrain].map((path) => join(dir, basename(path)))
    for (const path of here) {
      const text = await readFile(join(units, basename(path)), 'utf8')
      // The program of an installation is not on this machine.
      await writeFile(path, text.replace(/^(Exec\w+=-?)[^\s-]\S*/gm, `$1${process.execPath}`))
    }
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...here])
    expect(`${stdout}${stderr}`.split('\n').filter((line) => /holt\S*\.service/.test(line))).toEqual([])
  },
)

test('systemd is notified, and child processes do not inherit its socket', async () => {
  const dir = await makeDir()
  const told = join(dir, 'told')
  await writeFile(join(dir, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $HOLT_DATABASE_URL$*" >> ${told}\n`)
  await chmod(join(dir, 'systemd-notify'), 0o755)
  const { log, logged } = keepingLog()
  const path = process.env.PATH
  process.env.PATH = `${dir}${delimiter}${path}`
  onTestFinished(() => {
    process.env.PATH = path
  })
  const secret = { HOLT_DATABASE_URL: 'postgres://user:password@db/holt' }
  const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, NOTIFY_SOCKET: '/run/systemd/notify', ...secret }
  const tell = findManager(env, log)
  await tell('READY=1')
  await tell('STOPPING=1')
  const pid = `--pid=${process.pid}`
  expect(await readFile(told, 'utf8')).toBe(
    `/run/systemd/notify ${pid} READY=1\n/run/systemd/notify ${pid} STOPPING=1\n`,
  )
  expect(env.NOTIFY_SOCKET).toBeUndefined()
  expect(logged).toEqual([])
})

test('without systemd there is no notification, and a failed notification does not end the service', async () => {
  const { log, logged } = keepingLog()
  await findManager({ PATH: '/nowhere' }, log)('READY=1')
  expect(logged).toEqual([])
  const path = process.env.PATH
  process.env.PATH = '/nowhere'
  onTestFinished(() => {
    process.env.PATH = path
  })
  await findManager({ PATH: '/nowhere', NOTIFY_SOCKET: '/run/none' }, log)('READY=1')
  expect(logged).toEqual([expect.objectContaining({ level: 'error' })])
})

/** A manager's end of sd_notify(3): prints what it is told, as it comes. */
const manager = `
import socket, sys
end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
end.bind(sys.argv[1])
print('listens', flush=True)
while True: print(end.recv(4096).decode(), flush=True)`

const missing = lacks('python3', 'systemd-notify', 'runsc', 'go')

test.skipIf(missing !== '')(
  `a daemon says that it listens to the manager which has started it, by its real protocol${missing}`,
  { timeout: 120_000 },
  async () => {
    const socket = join(await makeDir(), 'notify')
    const child = spawn('python3', ['-c', manager, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill())
    let told = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      told += text
    })
    const pollTimeout = { timeout: 20_000 }
    await expect.poll(() => told, pollTimeout).toBe('listens\n')
    await using holtd = await startHoltd({
      NOTIFY_SOCKET: socket,
      HOLT_BASE_IMAGE: '127.0.0.1:9/none',
      HOLT_POOL_MAX: '0',
    })
    await expect.poll(() => told, pollTimeout).toContain('READY=1')
    expect(told).toContain(`MAINPID=${holtd.pid}`)
    expect((await holtd.ask('GET', '/healthz')).status).toBe(200)
  },
)
