import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { runscBinary } from '@holt/testkit'
import { run } from './run.ts'

/** A cold boot takes a fraction of a second; a busy machine many times that. */
const BOOT_TIMEOUT_MS = 60_000

/** Boots runsc with the image as root file system and answers what the program wrote. */
export async function runInRunsc(image: string, dir: string, args: readonly string[]): Promise<string> {
  const id = basename(dir)
  const [root, bundle] = [`${dir}/runsc`, `${dir}/bundle`]
  mkdirSync(`${bundle}/empty`, { recursive: true })
  writeFileSync(`${bundle}/config.json`, JSON.stringify(spec(image, `${bundle}/empty`, args)))
  // Files, not pipes: the sandbox inherits them, and a reader of a pipe waits until it is gone.
  const [out, err] = [openSync(`${dir}/out`, 'w'), openSync(`${dir}/err`, 'w')]
  const options = ['--root', root, '--network=none', '--platform=ptrace', '--ignore-cgroups']
  try {
    const child = spawn(runscBinary(), [...options, 'run', '--bundle', bundle, id], {
      stdio: ['ignore', out, err],
      timeout: BOOT_TIMEOUT_MS,
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`runsc ended with ${code}: ${readFileSync(`${dir}/err`, 'utf8')}`)
    return readFileSync(`${dir}/out`, 'utf8')
  } finally {
    closeSync(out)
    closeSync(err)
    await run(runscBinary(), ['--root', root, 'delete', '--force', id])
  }
}

function spec(image: string, root: string, args: readonly string[]): object {
  return {
    ociVersion: '1.0.2',
    process: { user: { uid: 0, gid: 0 }, args, env: [], cwd: '/' },
    root: { path: root, readonly: false },
    mounts: [{ destination: '/proc', type: 'proc', source: 'proc' }],
    annotations: {
      'dev.gvisor.spec.rootfs.source': image,
      'dev.gvisor.spec.rootfs.type': 'erofs',
      'dev.gvisor.spec.rootfs.overlay': 'memory',
    },
    linux: { namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
  }
}
