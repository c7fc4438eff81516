import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { releaseDir, TestMachine } from './support/test-machine.ts'

const home = '/usr/local/lib/holt'
const install = `bash '${releaseDir}/install.sh'`
const uninstall = `bash ${home}/install.sh --uninstall`
const units = '/etc/systemd/system'

let machine: TestMachine
beforeEach(async () => {
  machine = await TestMachine.make()
})
afterEach(() => machine[Symbol.asyncDispose]())

/** Runs a command that has to succeed, and returns what it says. */
async function succeed(command: string): Promise<string> {
  const { code, stdout, stderr } = await machine.run(command)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

/** Runs a command that has to fail without a change, and returns what it says to do. */
async function refuse(command: string): Promise<string> {
  const before = await machine.list()
  const { code, stderr } = await machine.run(command)
  expect(await machine.list()).toEqual(before)
  expect(code).toBe(1)
  return stderr
}

/** Writes a state directory, and claims user ids for a runtime in it. */
async function putState(place: string, claim = '100000'): Promise<void> {
  await machine.put(`${place}/installation.json`, '{"id":"abcd1234"}\n')
  await machine.put(`${place}/images/one.erofs`, 'image')
  await machine.link(`/run/holt-ids/${claim}`, `${place}/runtimes/one/record.json`)
}

test('an installation has its commands and units, and starts nothing', async () => {
  expect(await succeed(install)).toContain(`Holt 1.0.0 is installed in ${home}.`)
  expect(await succeed('holt')).toBe('1.0.0\n')
  expect(await succeed('holtd')).toBe('1.0.0\n')
  expect(await machine.read(`${units}/holtd.service`)).toContain(`\nExecStart=${home}/bin/holtd serve\n`)
  expect(await machine.read(`${units}/holt-runtimes.service`)).toContain(`\nExecStop=${home}/bin/holtd halt\n`)
  expect((await machine.takeCalls()).filter((call) => /start|enable/.test(call))).toEqual([])
})

test('--check changes nothing', async () => {
  const before = await machine.list()
  expect(await succeed(`${install} --check`)).toBe('This machine has everything that Holt needs.\n')
  expect(await machine.list()).toEqual(before)
})

test('an upgrade replaces the files and restarts the service', async () => {
  await succeed(install)
  await machine.put(`/opt/local/lib/holt/lib/of-the-old-version`, '')
  await machine.putRelease('2.0.0')
  await machine.put('/opt/active', '')
  await machine.takeCalls()
  await succeed(install)
  expect(await machine.takeCalls()).toEqual([
    'systemctl --quiet is-active holtd.service',
    'systemctl stop holtd.service',
    'systemctl daemon-reload',
    'systemctl start holtd.service',
  ])
  expect(await succeed('holt')).toBe('2.0.0\n')
  expect(await succeed(`ls /usr/local/lib; ls ${home}/lib`)).toBe('holt\nnode\n')
})

test('an uninstallation leaves nothing', async () => {
  const before = await machine.list()
  await succeed(install)
  await succeed(install)
  await putState('/var/lib/holt')
  await putState('/srv/second state', '200000')
  await machine.put('/etc/holt/holtd.env', 'HOLT_STATE_DIR="/srv/second state"\n')
  await machine.put('/root/.cache/holt/compiled/one', 'code')
  await succeed('install -d -o 1000 -g 1000 /home/ana/.cache/holt/compiled; chown -R 1000:1000 /home/ana')
  await machine.takeCalls()
  expect(await succeed(uninstall)).toBe('Holt is removed.\n')
  expect(await machine.takeCalls()).toEqual([
    'systemctl --quiet disable --now holt-drain.service',
    'systemctl --quiet disable --now holtd.service',
    'systemctl --quiet stop holt-runtimes.service',
    'holt down with /srv/second state',
    'holtd purge with /srv/second state',
    'holt down with /var/lib/holt',
    'holtd purge with /var/lib/holt',
    'systemctl daemon-reload',
  ])
  const directories = ['home/ana/', 'srv/', 'var/lib/']
  expect((await machine.list()).filter((line) => !directories.includes(line))).toEqual(
    before.filter((line) => !directories.includes(line)),
  )
})

test('--keep-state ends the runtimes, and keeps the state and the settings', async () => {
  await succeed(install)
  await putState('/var/lib/holt')
  await machine.put('/etc/holt/holtd.env', 'HOLT_PORT=5000\n')
  await machine.takeCalls()
  await succeed(`${uninstall} --keep-state`)
  expect(await machine.takeCalls()).toContain('holtd halt with /var/lib/holt')
  expect(await machine.read('/var/lib/holt/images/one.erofs')).toBe('image')
  expect(await machine.read('/etc/holt/holtd.env')).toBe('HOLT_PORT=5000\n')
  expect(await machine.read(`/opt/local/lib/holt/manifest.json`)).toBe(null)
})

describe('the files that an uninstallation finds', () => {
  beforeEach(() => succeed(install))

  test('a state directory behind a symbolic link is removed with the link', async () => {
    await putState('/srv/disk/holt')
    await machine.put('/srv/disk/mine', 'mine')
    await machine.link('/var/lib/holt', '/srv/disk/holt')
    expect(await succeed(uninstall)).toBe('Holt is removed.\n')
    expect(await succeed('ls -A /srv/disk /var/lib /run')).toBe(
      '/run:\nsystemd\n\n/srv/disk:\nmine\n\n/var/lib:\ndpkg\n',
    )
  })

  test('a mount point below the state directory stays, and the rest is removed', async () => {
    await putState('/var/lib/holt')
    await machine.put('/var/lib/holt/checkpoints/one', '')
    const { code, stdout } = await machine.run(`mount -t tmpfs none /var/lib/holt/images && ${uninstall}`)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '/var/lib/holt stays: it is a mount point, or something in it cannot be removed.\nHolt is removed.\n',
    })
    expect(await succeed('ls /var/lib/holt /usr/local')).toBe('/usr/local:\n\n/var/lib/holt:\nimages\n')
  })

  test('claims of user ids of other installations stay', async () => {
    await putState('/var/lib/holt')
    await machine.link('/run/holt-ids/200000', '/var/lib/holt-two/runtimes/one/record.json')
    await succeed(uninstall)
    expect(await succeed('ls /run/holt-ids')).toBe('200000\n')
  })

  test.each(['holtd.service', 'holt-runtimes.service', 'holt-drain.service'])(
    'a foreign %s is named, and not changed',
    async (name) => {
      const foreign = `[Service]\nExecStart=/srv${home}/bin/holtd serve\nExecStop=${home}/bin/holtd-mine\n`
      await machine.put(`${units}/${name}`, foreign)
      await machine.takeCalls()
      expect(await succeed(uninstall)).toContain(`${units}/${name} stays: it does not belong to this installation.\n`)
      expect(await machine.read(`${units}/${name}`)).toBe(foreign)
      expect((await machine.takeCalls()).filter((call) => call.endsWith(name))).toEqual([])
      expect(await succeed(`ls ${units}`)).toBe(`${name}\n`)
    },
  )

  test('an edited unit of this installation is removed', async () => {
    await machine.put(`${units}/holtd.service`, `[Service]\nExecStart = -"${home}/bin/holtd" serve\n`)
    await succeed(uninstall)
    expect(await succeed(`ls ${units}`)).toBe('')
  })

  test('compiled code is removed with the rights of its user', async () => {
    await machine.put('/srv/holt/mine', 'mine')
    await machine.put('/root/.cache/holt/compiled/one', 'code')
    await machine.link('/home/ana/.cache', '/srv')
    await succeed('chown -hR 1000:1000 /home/ana')
    expect(await succeed(uninstall)).toContain('/home/ana/.cache/holt stays: its user cannot remove it.\n')
    expect(await machine.read('/srv/holt/mine')).toBe('mine')
    expect(await machine.read('/root/.cache/holt/compiled/one')).toBe(null)
  })

  test('a cache directory with files of other programs stays', async () => {
    await machine.put('/root/.cache/holt/compiled/one', 'code')
    await machine.put('/root/.cache/other', 'mine')
    expect(await succeed(uninstall)).toBe('Holt is removed.\n')
    expect(await succeed('ls -A /root/.cache')).toBe('other\n')
  })

  test('a foreign program at the path of a command stays', async () => {
    await succeed('rm /usr/local/bin/holt')
    await machine.put('/opt/local/bin/holt', 'mine')
    await succeed(uninstall)
    expect(await succeed('ls /usr/local/bin')).toBe('holt\n')
  })

  test.each([
    ['--state-dir /', '/ is not a state directory of Holt'],
    ['--state-dir /srv', '/srv is not a state directory of Holt'],
    ['--state-dir srv', '--state-dir needs an absolute path'],
    ['--state-dir /srv/../var/lib/holt', '--state-dir needs a path without ..'],
    ['--prefix /srv', '/srv/lib/holt is not an installation of Holt'],
  ])('%s is refused', async (options, reason) => {
    await putState('/var/lib/holt')
    expect(await refuse(`${uninstall} ${options}`)).toMatch(new RegExp(`^FIX: .*  # ${reason}\n$`))
  })

  test('a relative state directory in the settings is refused', async () => {
    await putState('/srv/state')
    await machine.put('/etc/holt/holtd.env', 'HOLT_STATE_DIR=state\n')
    expect(await refuse(`cd /srv; ${uninstall}`)).toBe(
      'FIX: write HOLT_STATE_DIR=/DIR to /etc/holt/holtd.env  # HOLT_STATE_DIR=state is not an absolute path\n',
    )
  })

  test('a service with another state directory is refused', async () => {
    expect(await refuse(`${home}/lib/node 60 & ${uninstall}`)).toMatch(
      /--uninstall --state-dir DIR {2}# process \d+ runs with another state directory\n$/,
    )
  })
})

describe('an installation is refused', () => {
  const foreignUnit = `[Service]\nExecStart=/srv${home}/bin/holtd serve\n`
  test.each<[string, string, string, () => Promise<unknown>]>([
    ['a relative prefix', '--prefix srv', '--prefix needs an absolute path', async () => {}],
    ['a prefix with ..', '--prefix /srv/../opt', '--prefix needs a path without ..', async () => {}],
    ['a prefix that ends in ..', '--prefix /srv/..', '--prefix needs a path without ..', async () => {}],
    ['a prefix with a space', "--prefix '/srv/my place'", 'a prefix may have only letters', async () => {}],
    [
      'a relative state directory in the settings',
      '',
      'HOLT_STATE_DIR=state is not an absolute path',
      () => machine.put('/etc/holt/holtd.env', '# mine\n HOLT_STATE_DIR="state"\n'),
    ],
    [
      'a foreign service',
      '',
      `${units}/holtd.service does not belong to this installation`,
      () => machine.put(`${units}/holtd.service`, foreignUnit),
    ],
    [
      'a foreign unit of the runtimes',
      '',
      `${units}/holt-runtimes.service does not belong to this installation`,
      () => machine.put(`${units}/holt-runtimes.service`, foreignUnit.replace('Start', 'Stop')),
    ],
    [
      'a masked service',
      '',
      `${units}/holtd.service does not belong`,
      () => machine.link(`${units}/holtd.service`, '/dev/null'),
    ],
    [
      'a directory of others',
      '',
      `${home} is not an installation of Holt`,
      () => machine.put('/opt/local/lib/holt/mine', ''),
    ],
    ['a link in its place', '', `${home} is a symbolic link`, () => machine.link('/opt/local/lib/holt', '/srv')],
    [
      'a command of others',
      '',
      '/usr/local/bin/holtd does not belong to this installation',
      () => machine.put('/opt/local/bin/holtd', ''),
    ],
    ['a damaged file', '', 'files differ from SHA256SUMS', () => machine.put(`${releaseDir}/bin/holt`, '')],
    [
      'the Debian package',
      '',
      'the package holt is installed',
      () => machine.put('/var/lib/dpkg/status', 'Package: holt\nStatus: install ok installed\nVersion: 1\n'),
    ],
    [
      'a missing package',
      '--no-packages',
      'missing: python3-pip',
      () => machine.putProgram('/opt/programs/python3', 'exit 1'),
    ],
  ])('beside %s', async (_name, options, reason, prepare) => {
    await prepare()
    expect(await refuse(`${install} ${options}`)).toContain(`  # ${reason}`)
  })

  test('for another processor', async () => {
    const manifest = await machine.read(`${releaseDir}/manifest.json`)
    await machine.put(`${releaseDir}/manifest.json`, manifest?.replace(process.arch, 'riscv') ?? '')
    expect(await refuse(install)).toContain('# this release is for riscv\n')
  })

  test('without root, with the command to use', async () => {
    expect(await refuse(`setpriv --reuid=1000 --regid=1000 --clear-groups ${install}`)).toBe(
      `FIX: sudo bash ${releaseDir.replace(' ', '\\ ')}/install.sh  # mounts, loop devices and cgroups need root\n`,
    )
  })
})

describe('an upgrade that fails', () => {
  beforeEach(async () => {
    await succeed(install)
    await machine.putRelease('2.0.0')
    await machine.put('/opt/active', '')
    await machine.takeCalls()
  })

  test.each([
    ['while the old directory is moved', 'mv', '*/old', 'exit 1'],
    ['while the new directory is moved', 'mv', home, 'exit 1'],
    ['by a signal', 'mv', home, 'kill -TERM $PPID; exit 1'],
    ['while the commands are linked', 'ln', '*/bin/holtd', 'exit 1'],
    ['while the units are copied', 'install', `${units}/`, 'exit 1'],
  ])('%s keeps the earlier installation, and starts its service', async (_when, program, last, fault) => {
    const before = await machine.list()
    // The first call with these arguments fails, and not the one that moves the directory back.
    await machine.putProgram(
      `/opt/programs/${program}`,
      `for last; do :; done\ncase $last in ${last}) [ -e /opt/failed ] || { touch /opt/failed; ${fault}; } ;; esac\nexec /usr/bin/${program} "$@"`,
    )
    expect((await machine.run(install)).code).not.toBe(0)
    await succeed(`rm /opt/failed /opt/programs/${program}`)
    expect(await machine.list()).toEqual(before)
    expect(await succeed('holt')).toBe('1.0.0\n')
    expect(await machine.takeCalls()).toContain('systemctl start holtd.service')
    await succeed(install)
    expect(await succeed('holt')).toBe('2.0.0\n')
  })
})
