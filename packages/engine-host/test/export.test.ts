import { execFile, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Engine, ImageDigest, ImageStore, RuntimeSpec } from '@holt/engine'
import { GuestClient, type StartProcess } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { readTar } from '@holt/tar'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ImageMounts } from '../src/images/image-mounts.ts'
import { layoutOf } from '../src/installation/layout.ts'
import { PUBLIC_CERTIFICATE, RUNTIME_CERTIFICATE } from './support/certificates.ts'
import { copyPrograms } from './support/copy-programs.ts'
import {
  type EngineUnderTest,
  prepareEngine,
  processOf,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { SmallGateway } from './support/small-gateway.ts'
import { missing } from './support/test-machine.ts'

const run = promisify(execFile)

/**
 * The content of the image: an entry for each kind of change, and files that the guest writes to.
 */
const MAKE_TREE = `
  mkdir -p a/b a/dir/inner etc/ssl/certs proc/below usr/local/share opt; chmod 750 a/b; chown 7:8 a/b
  for name in append cut mode rename link mapped time owner replace remove same lower; do head -c 70000 /dev/urandom > a/$name; done
  ln a/same a/same2; ln -s same a/symlink; mkfifo -m 640 a/fifo; mknod dev/null c 1 3; chmod 4755 a/same; echo x > a/dir/inner/x
  truncate -s 3M a/sparse; printf end >> a/sparse; echo '127.0.0.1 localhost' > etc/hosts; chown 3:4 etc/hosts; chmod 640 etc/hosts
  ln -s ../run/somewhere etc/resolv.conf; chmod 600 etc/ssl/certs/ca-certificates.crt
  find . -exec touch -h -d '2001-02-03 04:05:06.789' {} +`

/** The changes, made in the runtime and, as the oracle, in a copy of the tree. */
const CHANGE_TREE = `set -e; cd /a
  echo more >> append; truncate -s 7 cut; chmod 2711 mode; mv rename renamed; ln link linked; /bin/probe mapped mapped; touch -d @12345.5 time; chown 12:34 owner
  echo new > replacing; mv replacing replace; rm remove; mv dir moved; mkdir -p new/deep; echo y > new/deep/y; ln -s /nowhere new/dangling; rm symlink; mkdir symlink
  truncate -s 8M new/sparse; echo data >> new/sparse; mkfifo new/fifo; chown -h 5:6 new/dangling; chmod 1777 new
  echo '10.1.2.3 mine' >> /etc/hosts; rm -r /opt
  for name in append cut mapped replace new/deep/y new/sparse new/fifo new/dangling link renamed; do touch -h -d @99.25 $name; done; touch -d @5 /etc/hosts`

for (const [isolation, runner] of [
  ['gvisor', 'runsc'],
  ['container', 'runc'],
] as const) {
  const reason = await missing('root', 'go', runner)
  describe.skipIf(reason !== null)(`the export of a ${isolation} (${reason ?? 'ready'})`, () => {
    let under: EngineUnderTest
    let engine: Engine
    let images: ImageStore
    let spec: RuntimeSpec
    let guest: GuestClient
    let whole: ImageDigest
    beforeAll(async () => {
      under = await prepareEngine()
      const { tree } = under
      await copyPrograms(
        tree,
        'sh',
        'touch',
        'ln',
        'mv',
        'rm',
        'truncate',
        'chmod',
        'chown',
        'mkfifo',
        'mkdir',
        'env',
        'id',
      )
      await mkdir(join(tree, 'etc/ssl/certs'), { recursive: true })
      await writeFile(join(tree, 'etc/ssl/certs/ca-certificates.crt'), PUBLIC_CERTIFICATE)
      await run('sh', ['-c', MAKE_TREE], { cwd: tree })
      engine = await under.open()
      images = engine.ability('images') as ImageStore
      spec = smallSpec(isolation, await importTree(images, tree), { pidsMax: 256 })
      guest = await startGuest(engine, spec)
    }, VERB_TIMEOUT_MS * 2)
    afterAll(async () => {
      await engine.close()
      await under[Symbol.asyncDispose]()
    }, VERB_TIMEOUT_MS)

    async function exported(onlyChanged: boolean) {
      const { onlyChanged: left, body } = await guest.trees.export({ onlyChanged }, timeout())
      let bytes = 0
      async function* counted() {
        for await (const chunk of body) {
          bytes += chunk.length
          yield chunk
        }
      }
      const { digest } = await images.import(counted(), timeout(), { base: spec.imageDigest })
      return { digest, left, bytes }
    }

    test('has the changes of the steps to the image, and nothing of the guest', async () => {
      await openNetwork(engine, spec, guest)
      expect(await runCommand(guest, '/bin/cat', '/etc/ssl/certs/ca-certificates.crt')).toMatchObject({
        output: expect.stringContaining(RUNTIME_CERTIFICATE),
      })
      expect(await runCommand(guest, '/bin/sh', '-c', CHANGE_TREE)).toEqual({ output: '', exitCode: 0 })
      const oracle = `${under.tree}-changed`
      await run('cp', ['-a', under.tree, oracle])
      await run('chroot', [oracle, '/bin/sh', '-c', CHANGE_TREE])
      // The guest writes through a directory that is no part of the image.
      const content = { body: Buffer.from('more'), createOnly: false, path: '/a/append' }
      await guest.content.write(content, timeout())
      await run('sh', ['-c', `printf more > ${oracle}/a/append`])
      for (const append of ['/a/append', '/a']) {
        expect(await runCommand(guest, '/bin/touch', '-d', '@99.25', append)).toMatchObject({ exitCode: 0 })
        await run('touch', ['-d', '@99.25', `${oracle}${append}`])
      }
      const { digest, left } = await exported(false)
      expect(left).toBe(false)
      whole = digest
      await using mounted = await mountImage(under, digest)
      expect(await describeTree(mounted.path)).toBe(await describeTree(oracle))
    })

    test(`can leave out unchanged files: ${isolation === 'gvisor' ? 'the image is the same' : 'not in this class'}`, async () => {
      const all = await exported(false)
      const changed = await exported(true)
      expect(changed.digest).toBe(whole)
      expect(all.digest).toBe(whole)
      expect(changed.left).toBe(isolation === 'gvisor')
      if (changed.left) expect(changed.bytes).toBeLessThan(all.bytes - 5_000_000)
    })

    test('leaves out named paths', async () => {
      const { body } = await guest.trees.export({ onlyChanged: false, exclude: ['/a', '/bin'] }, timeout())
      const { digest } = await images.import(body, timeout(), { base: spec.imageDigest })
      await using mounted = await mountImage(under, digest)
      const { stdout } = await run('ls', ['-A', mounted.path])
      expect(stdout.split('\n')).not.toContain('a')
      expect(stdout.split('\n')).toContain('etc')
    })

    test('copies the whole tree without its mounts', async () => {
      const { body } = await guest.trees.select({ sources: ['/'], exclude: ['bin', 'lib*'] }, timeout())
      const names = new Map<string, string>()
      for await (const entry of readTar(body)) names.set(Buffer.from(entry.path).toString(), entry.type)
      const system = [...names.keys()].filter((name) => /^(proc|sys|dev|run)\//.test(name))
      expect(system.sort()).toEqual(['dev/', 'proc/', 'run/', 'sys/'])
      expect(names.get('proc/')).toBe('directory')
      expect(names.get('a/new/sparse')).toBe('file')
      expect(names.get('etc/resolv.conf')).toBe('symlink')
    })

    test('does not match another image', async () => {
      const { body, onlyChanged } = await guest.trees.export({ onlyChanged: true }, timeout())
      const empty = await images.import(emptyTar(), timeout())
      const importing = images.import(body, timeout(), { base: empty.digest })
      if (onlyChanged) await expect(importing).rejects.toMatchObject({ kind: 'invalid' })
      else await importing
    })

    // The other class has no checkpoints.
    const inGvisor: typeof test | (() => void) = isolation === 'gvisor' ? test : () => {}
    inGvisor(
      'is the same after a checkpoint, in a runtime that was restored from it',
      { timeout: VERB_TIMEOUT_MS },
      async () => {
        const checkpoints = engine.ability('checkpoints')
        await guest.setNetwork(null, timeout())
        await guest.quiesce(timeout())
        await checkpoints?.take(spec.id, 'stepped', timeout())
        await engine.remove(spec.id, timeout())
        spec = { ...spec, id: makeId('runtime'), checkpointId: 'stepped' }
        await engine.ensure(spec, timeout())
        guest = new GuestClient(await engine.dial(spec.id, timeout()))
        await openNetwork(engine, spec, guest)
        expect((await exported(true)).digest).toBe(whole)
        await checkpoints?.remove('stepped')
      },
    )

    test('a process can have exactly the given environment, and the groups of its user', async () => {
      const exact = await runProcess(guest, { ...processOf(['env']), env: { PATH: '/bin', A: 'b' }, env_exact: true })
      const names = exact
        .split('\n')
        .sort()
        .filter((line) => !/=\/(etc\/ssl|usr\/local\/share\/ca-certificates)\//.test(line))
      expect(names).toEqual(['', 'A=b', 'HOME=/root', 'PATH=/bin'])
      expect(exact).toContain('SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt\n')
      await guest.setNetwork(null, timeout())
      const without = await runProcess(guest, {
        ...processOf(['env']),
        env: { PATH: '/bin', HOME: '/x' },
        env_exact: true,
      })
      expect(without.split('\n').sort()).toEqual(['', 'HOME=/x', 'PATH=/bin'])
      const id = await runProcess(guest, {
        ...processOf(['id']),
        user: 'nobody:root',
        env: { PATH: '/bin' },
        env_exact: true,
      })
      expect(id).toBe('uid=65534(nobody) gid=0(root) groups=0(root)\n')
    })

    test('leaves nothing behind', async () => {
      await engine.remove(spec.id, timeout())
      expect(await under.leaks()).toEqual([])
    })
  })
}

async function importTree(images: ImageStore, tree: string): Promise<ImageDigest> {
  const tar = spawn('tar', ['-c', '--numeric-owner', '--format=pax', '-C', tree, '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return (await images.import(tar.stdout, timeout())).digest
}

/** Gives the runtime a network, with a certificate to trust. */
async function openNetwork(engine: Engine, { id }: RuntimeSpec, guest: GuestClient): Promise<void> {
  const egress = engine.ability('egress')
  if (egress === null) throw new Error('no egress')
  await egress.open(id, new SmallGateway().accept)
  const tun = await egress.prepareTun(id, timeout())
  const addresses = { resolver: '198.18.0.1', address: '198.18.0.2', mtu: 65_000 }
  const network = { ...addresses, tun, ca_certificates: [RUNTIME_CERTIFICATE] }
  expect(await guest.setNetwork(network, timeout())).toMatchObject({ network: true, problems: [] })
}

async function runProcess(guest: GuestClient, request: StartProcess): Promise<string> {
  const items = await Array.fromAsync(await guest.processes.run(request, timeout()))
  return items.map((item) => (item.type === 'stdout' ? Buffer.from(item.data, 'base64').toString() : '')).join('')
}

/**
 * Everything about a tree but the times of directories, which also a copy changes; hard links as
 * the first name of each group.
 */
async function describeTree(root: string): Promise<string> {
  const script = `find . -type d -printf '%P d %m %U:%G\\n' -o -printf '%P %y %m %U:%G %s %T@ %n %l\\n' | sort
    find . -type f -exec sha256sum {} + | sort -k 2
    find . -type f -links +1 -printf '%i %P\\n' | sort -k 2 | awk '{ if (!($1 in first)) first[$1] = $2; print first[$1], $2 }'`
  const { stdout } = await run('sh', ['-c', script], { cwd: root, maxBuffer: 2 ** 24 })
  return stdout
}

async function mountImage(
  { options: { stateDir, runDir, log } }: EngineUnderTest,
  digest: ImageDigest,
): Promise<{ readonly path: string } & AsyncDisposable> {
  const mounts = new ImageMounts(layoutOf(stateDir, runDir), () => false, log)
  return {
    path: await mounts.tree(digest, timeout()),
    [Symbol.asyncDispose]: () => mounts.release(digest),
  }
}

async function* emptyTar(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(1024)
}
