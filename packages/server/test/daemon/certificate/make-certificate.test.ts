import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeCertificate } from '../../../src/daemon/certificate/make-certificate.ts'
import { runCertificate } from '../../../src/daemon/certificate/run-certificate.ts'

const dayMs = 24 * 60 * 60 * 1000

async function newDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-certificate-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const make = (dir: string, wish = {}) =>
  makeCertificate({ domain: 'holt.localhost', days: 30, dir, now: Date.now(), ...wish })

test('the certificate is for the domain and the names below it, and nothing else', async () => {
  const made = await make(await newDir())
  const leaf = new X509Certificate(await readFile(made.certFile))
  const authority = new X509Certificate(await readFile(made.authorityFile))
  expect(leaf.checkIssued(authority) && leaf.verify(authority.publicKey)).toBe(true)
  for (const name of ['holt.localhost', 'api.holt.localhost', '3000-rt1.holt.localhost'])
    expect([name, leaf.checkHost(name) !== undefined]).toEqual([name, true])
  for (const name of ['localhost', 'a.b.holt.localhost', 'xholt.localhost', 'example.com'])
    expect([name, leaf.checkHost(name)]).toEqual([name, undefined])
  const days = (made.validUntil.getTime() - Date.now()) / dayMs
  expect(days).toBeGreaterThan(29)
  expect(days).toBeLessThan(31)
})

test('keys are for the owner alone, and the rest is for everybody', async () => {
  const dir = await newDir()
  const { certFile, keyFile, authorityFile, bundleFile } = await make(dir)
  const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8)
  expect(await Promise.all([keyFile, join(dir, 'authority-key.pem')].map(modeOf))).toEqual(['600', '600'])
  expect(await Promise.all([certFile, authorityFile, bundleFile].map(modeOf))).toEqual(['644', '644', '644'])
})

test('a renewal keeps the authority, so clients trust the new certificate', async () => {
  const dir = await newDir()
  const first = await make(dir)
  const [authority, leaf] = [await readFile(first.authorityFile, 'utf8'), await readFile(first.certFile, 'utf8')]
  const second = await make(dir)
  expect([first.isNewAuthority, second.isNewAuthority]).toEqual([true, false])
  expect(await readFile(second.authorityFile, 'utf8')).toBe(authority)
  expect(await readFile(second.certFile, 'utf8')).not.toBe(leaf)
  // An authority that would end before its certificate is replaced.
  expect((await make(dir, { now: Date.now() + 3640 * dayMs })).isNewAuthority).toBe(true)
})

test('an authority certifies its own domain only', async () => {
  const dir = await newDir()
  await make(dir)
  await expect(make(dir, { domain: 'other.localhost' })).rejects.toThrow('authority of another domain')
})

test('the bundle contains the authorities of the system and the new one', async () => {
  const made = await make(await newDir())
  const bundle = await readFile(made.bundleFile, 'utf8')
  const count = bundle.match(/BEGIN CERTIFICATE/g)?.length ?? 0
  expect(count).toBeGreaterThan(Math.min(20, rootCertificates.length))
  expect(bundle).toContain(await readFile(made.authorityFile, 'utf8'))
})

test.each([
  [['--domain', 'localhost'], /--domain: must be a domain of at least two parts/],
  [['--domain', 'a/b.example.com'], /--domain: /],
  [['--days', '0'], /--days: must be between/],
  [['--days', '826'], /--days: must be between/],
  [['--out', 'here'], /--out: must be an absolute path/],
  [['--wrong'], /--wrong/],
])('the options %j are refused', async (args, message) => {
  await expect(runCertificate(args, { HOLT_STATE_DIR: await newDir() })).rejects.toThrow(message)
})

test('the printed settings name the port of the listener, which clients add to the domain', async () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  onTestFinished(() => write.mockRestore())
  const out = await newDir()
  const printed = async (env: Record<string, string>) => {
    write.mockClear()
    expect(await runCertificate(['--out', out], env)).toBe(0)
    return write.mock.calls.join('')
  }
  const words = await printed({})
  expect(words).toContain('export HOLT_E2B=on HOLT_E2B_DOMAIN=holt.localhost:8443\n')
  expect(words).toContain(`export SSL_CERT_FILE=${out}/bundle.pem\n`)
  const onUsualPort = await printed({ HOLT_E2B_TLS_PORT: '443', HOLT_E2B_DOMAIN: 'holt.localhost:443' })
  expect(onUsualPort).toContain('export HOLT_E2B=on HOLT_E2B_DOMAIN=holt.localhost\n')
})
