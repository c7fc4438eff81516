import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { killRuntime } from '../kill-runtime.ts'
import { repository } from '../service-process.ts'
import type { DocMachine } from './doc-machine.ts'
import type { FleetNetwork } from './fleet-network.ts'

// The parts of the machines of docs/two-machines.md that the page expects to be there.

/** Returns the id of a host. */
export function idOf(machine: DocMachine): string {
  return installationOf(machine).host_id
}

function installationOf({ stateDir }: DocMachine): { readonly id: string; readonly host_id: string } {
  return JSON.parse(readFileSync(join(stateDir, 'installation.json'), 'utf8'))
}

/** Makes the database server of Debian's package, as its installation does, and starts it. */
export async function installDatabase(machine: DocMachine): Promise<void> {
  await machine.run(`
rm -rf /etc/postgresql
mkdir -p /var/lib/postgresql /var/log/postgresql
chown postgres: /var/lib/postgresql /var/log/postgresql
chmod 755 "$DIR" "$DIR/lib" "$DIR/log"
pg_createcluster "$(ls /usr/lib/postgresql | sort -n | tail -n 1)" main
service postgresql start`)
}

/** Lets root of one machine log in at another. */
export async function installKeys(at: DocMachine, from: DocMachine): Promise<void> {
  const key = await from.run(`
mkdir -m 700 ~/.ssh
ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
printf 'StrictHostKeyChecking accept-new\nUserKnownHostsFile ~/.ssh/known_hosts\n' >/etc/ssh/ssh_config
cat ~/.ssh/id_ed25519.pub`)
  await at.run(`
mkdir -m 700 ~/.ssh
echo '${key.trim()}' >~/.ssh/authorized_keys
mkdir -p /etc/ssh
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/host_key
printf '%s\n' 'HostKey /etc/ssh/host_key' 'UsePAM no' 'StrictModes no' 'Subsystem sftp internal-sftp' >/etc/ssh/sshd_config
$(command -v sshd) -f /etc/ssh/sshd_config`)
}

/** Installs HAProxy with a certificate, whose authority the clients there trust. */
export async function installBalancer(machine: DocMachine): Promise<void> {
  const script = join(repository, '.holt', 'tools', 'debian', 'haproxy', 'etc', 'init.d', 'haproxy')
  // The tests have the files of the package in another place: scripts/lib/packages.sh.
  await machine.run(`
mkdir -p /etc/haproxy
[ ! -e ${script} ] || sed "s|=/usr/sbin/haproxy|=$(command -v haproxy)|" ${script} >/etc/init.d/haproxy
chmod 755 /etc/init.d/haproxy
cd /etc/haproxy
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=holt.example.com -addext subjectAltName=DNS:holt.example.com \\
  -keyout key.pem -out cert.pem 2>/dev/null
cat cert.pem key.pem >holt.pem
echo '10.0.0.13 holt.example.com' >>/etc/hosts
export NODE_EXTRA_CA_CERTS=/etc/haproxy/cert.pem`)
}

/** Cuts the power: every process of the service and of its runtimes ends at once. */
export async function powerOff(machine: DocMachine, network: FleetNetwork): Promise<void> {
  await network.unplug(machine.options.place)
  const { pid } = JSON.parse(readFileSync(join(machine.stateDir, 'holtd.pid'), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
  const { id } = installationOf(machine)
  for (const runtimeId of readdirSync(join(machine.stateDir, 'runtimes'))) await killRuntime(runtimeId, id)
}

/** Ends the services and their runtimes. */
export async function endMachines(...machines: readonly DocMachine[]): Promise<void> {
  for (const machine of machines) await machine.run('holt down --all')
}
