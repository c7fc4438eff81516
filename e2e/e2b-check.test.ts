import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programFile, publishedClients } from '@holt/testkit'
import { expect, it, onTestFinished } from 'vitest'
import { clientEnvironment } from './support/e2b-clients.ts'
import { mainFile, nodeBinary } from './support/service-process.ts'

/** Programs with both packages make sandboxes, on a machine that may be busy. */
const slow = 300_000

it(
  'holt e2b check makes a sandbox by hand and with both published packages',
  async () => {
    const [javascript, python] = await Promise.all(
      ['javascript-sdk', 'python-sdk'].map((name) => publishedClients(name)),
    )
    const env = clientEnvironment()
    const { stdout } = await promisify(execFile)(nodeBinary(), [programFile('holt'), 'e2b', 'check', '--json'], {
      cwd: javascript,
      env: { ...env, PATH: `${join(python ?? '', 'bin')}:${env.PATH}` },
      timeout: slow,
    })
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] }
    expect(checks.filter(({ status }) => status === 'fix')).toEqual([])
    const passed = checks.filter(({ status }) => status === 'ok').map(({ name }) => name)
    for (const name of ['key', 'create', 'files', 'commands', 'kill', 'e2b for JavaScript', 'e2b for Python'])
      expect(passed).toContain(name)
  },
  slow,
)

/** Changes the system's own trust in a mount namespace, which ends with this script. */
const inOwnNamespace = `mount -t tmpfs none "$1"
for dir in etc usr; do
  mkdir "$1/$dir" "$1/$dir.work"
  mount -t overlay overlay -o "lowerdir=/$dir,upperdir=$1/$dir,workdir=$1/$dir.work" "/$dir"
done
mkdir "$1/tls"
"$2" "$3" certificate --domain trusted.lan --out "$1/tls" --trust --json
verify() { openssl verify -CAfile /etc/ssl/certs/ca-certificates.crt "$1/tls/certificate.pem" >/dev/null 2>&1 && echo yes || echo no; }
verify "$1"
"$2" "$3" certificate --domain trusted.lan --out "$1/tls" --trust | sed -n 's/^# To end that: //p' >"$1/undo"
sh -eu "$1/undo" >/dev/null 2>&1
verify "$1"
find /etc/ssl/certs -name '*trusted.lan*'`

it(
  'the system trusts an authority with --trust, until the command that it prints',
  async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holt-trust-'))
    onTestFinished(() => rm(dir, { recursive: true, force: true }))
    const unshare = ['--mount', '--propagation', 'private', 'bash', '-euc', inOwnNamespace, 'bash', dir]
    const { stdout } = await promisify(execFile)('unshare', [...unshare, nodeBinary(), mainFile], { timeout: slow })
    const [made = '', ...rest] = stdout.trim().split('\n')
    expect(JSON.parse(made)).toMatchObject({ trusted: '/usr/local/share/ca-certificates/holt-trusted.lan.crt' })
    expect(rest).toEqual(['yes', 'no'])
  },
  slow,
)
