import { afterEach, beforeEach, expect, test } from 'vitest'
import { TestMachine } from './support/test-machine.ts'

const purge = 'sh /media/postrm purge'

let machine: TestMachine
/** A machine with a state directory and settings, after the package was removed. */
beforeEach(async () => {
  machine = await TestMachine.make()
  await machine.copy('deploy/debian/postrm', '/media/postrm')
  await machine.put('/etc/holt/holtd.env', 'HOLT_PORT=5000\n')
  await machine.put('/run/holt/abcd1234/one', '')
})
afterEach(() => machine[Symbol.asyncDispose]())

/** Writes a state directory, and claims user ids for a runtime in `named`. */
async function putState(place: string, named = place): Promise<void> {
  await machine.put(`${place}/installation.json`, '{"id":"abcd1234"}\n')
  await machine.put(`${place}/runtimes/one/record.json`, '')
  await machine.makeDir(`${place}/runtimes/one/disk`)
  await machine.link('/run/holt-ids/100000', `${named}/runtimes/one/record.json`)
}

/** Runs a command that has to succeed, and returns what it says. */
async function succeed(command: string): Promise<string> {
  const { code, stdout, stderr } = await machine.run(command)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

test('a purge removes the state, the settings, the claims of user ids and the compiled code', async () => {
  await putState('/var/lib/holt')
  await machine.put('/root/.cache/holt/compiled/one', 'code')
  expect(await succeed(purge)).toBe('')
  expect(await succeed('ls -A /var/lib /etc /run /root')).toBe(
    '/etc:\nos-release\npasswd\nssl\nsystemd\n\n/root:\n\n/run:\nsystemd\n\n/var/lib:\ndpkg\n',
  )
})

test('a purge removes the cgroups of the installation, and no others', async () => {
  await putState('/var/lib/holt')
  const [ours, others] = ['holt-abcd1234', 'holt-zyxwvuts']
  const places = ['/sys/fs/cgroup', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids']
  for (const place of places) for (const name of [ours, others]) await machine.makeDir(`${place}/${name}/rtone/below`)
  expect(await succeed(purge)).toBe('')
  expect(await succeed('cd /sys/fs/cgroup; ls -d holt-* */holt-*')).toBe(
    `${others}\nmemory/${others}\npids/${others}\n`,
  )
})

test('a removal keeps the state and the settings', async () => {
  await putState('/var/lib/holt')
  const before = await machine.list()
  await succeed('sh /media/postrm remove')
  expect(await machine.list()).toEqual(before)
})

test('a purge removes the target of a symbolic link, and unmounts disks there', async () => {
  await putState('/srv/my disk/holt', '/var/lib/holt')
  await machine.link('/var/lib/holt', '/srv/my disk/holt')
  await succeed(`mount -t tmpfs none '/srv/my disk/holt/runtimes/one/disk' && ${purge}`)
  expect(await succeed("ls '/srv/my disk' /var/lib; find /run -name 'holt*'")).toBe(
    '/srv/my disk:\n\n/var/lib:\ndpkg\n',
  )
})

test('a purge continues if the state directory is a mount point', async () => {
  await machine.makeDir('/var/lib/holt')
  const put = `mount -t tmpfs none /var/lib/holt && touch /var/lib/holt/installation.json`
  expect(await succeed(`${put} && ${purge} && ls -A /var/lib/holt /etc/holt 2>&1 || true`)).toBe(
    "/var/lib/holt stays: it is a mount point, or something in it cannot be removed.\nls: cannot access '/etc/holt': No such file or directory\n/var/lib/holt:\n",
  )
})

test('a purge keeps files of other installations, and names the state directory of the settings', async () => {
  await putState('/var/lib/holt')
  await machine.put('/srv/state/installation.json', '{"id":"efgh5678"}\n')
  await machine.put('/etc/holt/holtd.env', "HOLT_STATE_DIR='/srv/state'\n")
  await machine.put('/run/holt/efgh5678/one', '')
  await machine.link('/run/holt-ids/200000', '/var/lib/holt-two/runtimes/one/record.json')
  expect(await succeed(purge)).toBe('/srv/state stays: remove the state of Holt in it.\n')
  expect(await succeed('ls /srv/state /run/holt /run/holt-ids')).toBe(
    '/run/holt:\nefgh5678\n\n/run/holt-ids:\n200000\n\n/srv/state:\ninstallation.json\n',
  )
})

test('compiled code is removed with the rights of its user', async () => {
  await machine.put('/srv/holt/mine', 'mine')
  await machine.link('/home/ana/.cache', '/srv')
  await succeed('chown -hR 1000:1000 /home/ana')
  expect(await succeed(purge)).toBe('/home/ana/.cache/holt stays: its user cannot remove it.\n')
  expect(await machine.read('/srv/holt/mine')).toBe('mine')
})

test('a first installation says how to start, and an upgrade does not', async () => {
  await machine.copy('deploy/debian/postinst', '/media/postinst')
  const said = await succeed("sh /media/postinst configure ''")
  expect(said).toMatch(/^Holt is installed\. Start it: systemctl enable --now holtd .*holt up\)\nThen: holt run .*\n/)
  expect(said).toContain('/usr/share/doc/holt')
  expect(said.trimEnd().split('\n')).toHaveLength(4)
  expect(said).toContain('--no-install-recommends')
  expect(await succeed('sh /media/postinst configure 0.1.0')).toBe('')
  expect(await succeed('sh /media/postinst abort-upgrade 0.1.0')).toBe('')
  expect(await succeed("rmdir /run/systemd/system; sh /media/postinst configure ''")).toMatch(
    /^Holt is installed\. Start it: holt up\n/,
  )
})
