import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { builtRunsc } from '@holt/testkit'
import { expect, test } from 'vitest'
import { copyPrograms } from './support/copy-programs.ts'
import { VERB_TIMEOUT_MS } from './support/engine-under-test.ts'
import { missing, temporaryDirectory } from './support/test-machine.ts'

const reason = await missing('root', 'runsc')
const run = promisify(execFile)

/** The flags of `gvisor-driver.ts` that decide about the filter. */
const flags = ['--network=none', '--host-uds=open', '--directfs=false', '--platform=systrap']

test.skipIf(reason !== null)(
  `a sandbox of our gVisor compiles no system call filter at its start (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS },
  async () => {
    await using dir = await temporaryDirectory()
    const [rootfs, logs] = [join(dir.path, 'rootfs'), join(dir.path, 'logs')]
    await mkdir(rootfs)
    await copyPrograms(rootfs, 'true')
    const config = {
      ociVersion: '1.0.0',
      process: { user: { uid: 0, gid: 0 }, args: ['/bin/true'], cwd: '/' },
      root: { path: rootfs, readonly: true },
      linux: { namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
    }
    await writeFile(join(dir.path, 'config.json'), JSON.stringify(config))
    const global = [`--root=${join(dir.path, 'state')}`, '--ignore-cgroups', '--debug', `--debug-log=${logs}/`]
    await run(builtRunsc, [...global, ...flags, 'run', `--bundle=${dir.path}`, 'filtered'], {
      timeout: VERB_TIMEOUT_MS,
    })
    const names = await readdir(logs)
    const text = (await Promise.all(names.map((name) => readFile(join(logs, name), 'utf8')))).join('\n')
    expect(text).toContain('Loaded precompiled seccomp instructions')
    expect(text).not.toContain('No precompiled program found')
  },
)
