import { spawn } from 'node:child_process'
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeSums } from '../../../../scripts/release/hash-files.ts'
import { type Ended, endOf } from './run-holt.ts'

const repository = fileURLToPath(new URL('../../../..', import.meta.url))

/** The path of an unpacked release on the machine. */
export const releaseDir = '/media/holt release'

/** Packages that an installation needs, and which a machine without network may lack. */
const packagePrograms = ['mmdebstrap', 'runc', 'ip', 'skopeo', 'python3']

/**
 * Mounts the host's programs and `/proc` into a root, and runs a shell command there. The mounts
 * end with it.
 */
const runInside = `set -e
mount --bind /usr "$1/usr"
mount -o remount,bind,ro "$1/usr"
mount --bind "$1/opt/local" "$1/usr/local"
mount --bind "$1/opt/keyrings" "$1/usr/share/keyrings"
mount --bind /dev "$1/dev"
mount -t proc proc "$1/proc"
exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/opt/programs:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "$2"`

/**
 * A machine for tests of the installation: a directory with its own `/etc`, `/var`, `/run`, `/home`
 * and `/usr/local`, the programs of the host, and a systemctl that notes its calls.
 */
export class TestMachine {
  readonly #root: string

  private constructor(root: string) {
    this.#root = root
  }

  /** Makes a machine with a release in `releaseDir`. */
  static async make(): Promise<TestMachine> {
    const machine = new TestMachine(await mkdtemp(join(tmpdir(), 'holt-machine-')))
    await chmod(machine.#root, 0o755)
    for (const dir of ['usr', 'dev', 'proc', 'root', 'home', 'etc/systemd/system', 'run/systemd/system'])
      await machine.makeDir(dir)
    await machine.makeDir('opt/local')
    for (const name of ['bin', 'sbin', 'lib', 'lib64']) await machine.link(name, `usr/${name}`)
    await machine.link('etc/os-release', '../usr/lib/os-release')
    await machine.put('etc/passwd', 'root:x:0:0::/root:/bin/sh\nana:x:1000:1000::/home/ana:/bin/sh\n')
    await machine.put('etc/ssl/certs/ca-certificates.crt', 'certificates')
    await machine.put('opt/keyrings/debian-archive-trixie-stable.gpg', 'keys')
    await machine.put('var/lib/dpkg/status', '')
    await chmod(await machine.makeDir('tmp'), 0o1777)
    for (const name of packagePrograms) await machine.putProgram(`opt/programs/${name}`, 'exit 0')
    await machine.putProgram(
      'opt/programs/systemctl',
      'echo "systemctl $*" >>/opt/calls\n[ "$2" != is-active ] || [ -e /opt/active ]',
    )
    await machine.putRelease('1.0.0')
    return machine
  }

  /** Writes a release whose programs note their calls. Its Node is sleep(1). */
  async putRelease(version: string): Promise<void> {
    await rm(this.#path(releaseDir), { recursive: true, force: true })
    const put = (name: string, text: string) => this.put(join(releaseDir, name), text)
    const manifest = { name: 'holt', version, arch: process.arch }
    await put('manifest.json', `${JSON.stringify(manifest, null, 2)}\n`)
    for (const name of ['holt', 'holtd'])
      await this.putProgram(
        join(releaseDir, 'bin', name),
        `echo "${name} $* with $HOLT_STATE_DIR" >>/opt/calls\n[ $# -gt 0 ] || echo ${version}`,
      )
    await this.makeDir(join(releaseDir, 'lib'))
    await cp('/bin/sleep', this.#path(join(releaseDir, 'lib/node')))
    for (const name of await readdir(join(repository, 'deploy/systemd'))) {
      const unit = await readFile(join(repository, 'deploy/systemd', name), 'utf8')
      await put(`share/systemd/${name}`, unit.replaceAll('/opt/holt/packages/server/bin/', '@HOLT@/bin/'))
    }
    await cp(join(repository, 'scripts/install.sh'), this.#path(join(releaseDir, 'install.sh')))
    await writeSums(this.#path(releaseDir))
  }

  /** Copies a file of the repository to a place of the machine. */
  async copy(name: string, place: string): Promise<void> {
    await this.makeDir(dirname(place))
    await cp(join(repository, name), this.#path(place))
  }

  async put(place: string, text: string): Promise<void> {
    await this.makeDir(dirname(place))
    await writeFile(this.#path(place), text)
  }

  async putProgram(place: string, script: string): Promise<void> {
    await this.put(place, `#!/bin/sh\n${script}\n`)
    await chmod(this.#path(place), 0o755)
  }

  async link(place: string, target: string): Promise<void> {
    await this.makeDir(dirname(place))
    await symlink(target, this.#path(place))
  }

  async makeDir(place: string): Promise<string> {
    await mkdir(this.#path(place), { recursive: true })
    return this.#path(place)
  }

  /** Returns the text of a file; null if it is not there. */
  read(place: string): Promise<string | null> {
    return readFile(this.#path(place), 'utf8').catch(() => null)
  }

  /** Runs a shell command on the machine. */
  run(command: string): Promise<Ended> {
    const inside = ['sh', '-c', runInside, 'sh', this.#root, command]
    return endOf(spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', ...inside], { cwd: '/' }))
  }

  /** Returns what ran since the last call: the programs of the release, and systemctl. */
  async takeCalls(): Promise<readonly string[]> {
    const calls = (await this.read('opt/calls')) ?? ''
    await rm(this.#path('opt/calls'), { force: true })
    return calls.split('\n').filter((line) => line !== '')
  }

  /** Lists all files, also those of `/usr/local`, with their kinds and the targets of links. */
  async list(): Promise<readonly string[]> {
    const names = await readdir(this.#root, { recursive: true })
    const lines = names.toSorted().map(async (name) => {
      const stat = await lstat(join(this.#root, name))
      if (stat.isSymbolicLink()) return `${name} -> ${await readlink(join(this.#root, name))}`
      return stat.isDirectory() ? `${name}/` : name
    })
    return (await Promise.all(lines)).filter((line) => line !== 'opt/calls')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#root, { recursive: true })
  }

  #path(place: string): string {
    return join(this.#root, place)
  }
}
