import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { codeOf, type Finding } from './finding.ts'

/** The time for a program with a package, in milliseconds. It makes a sandbox. */
const programTimeoutMs = 120_000

const notInstalled = 'HOLT_NOT_INSTALLED'

/** A program that uses one package, as a user's program does. */
interface PackageProbe {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly install: string
}

const inJavaScript = `
let Sandbox
try { ({ Sandbox } = await import('e2b')) } catch { console.log('${notInstalled}'); process.exit(0) }
const sandbox = await Sandbox.create({ timeoutMs: 120000 })
try {
  const { stdout } = await sandbox.commands.run('echo $((6 * 7))')
  if (stdout !== '42\\n') throw new Error('a command printed ' + JSON.stringify(stdout))
} finally { await sandbox.kill() }
console.log('42')
`

const inPython = `
try:
    from e2b import Sandbox
except ImportError:
    print('${notInstalled}')
    raise SystemExit(0)
sandbox = Sandbox.create(timeout=120) if hasattr(Sandbox, 'create') else Sandbox(timeout=120)
try:
    stdout = sandbox.commands.run('echo $((6 * 7))').stdout
    assert stdout == '42\\n', f'a command printed {stdout!r}'
finally:
    sandbox.kill()
print('42')
`

const probes: readonly PackageProbe[] = [
  {
    name: 'e2b for JavaScript',
    command: 'node',
    args: ['--input-type=module', '--eval', inJavaScript],
    install: 'npm install e2b',
  },
  { name: 'e2b for Python', command: 'python3', args: ['-c', inPython], install: 'pip install e2b' },
]

/** Returns what to do about the error of a program; nothing if only its words help. */
function remedyOf(told: string): string {
  if (/UnknownIssuer|CERTIFICATE_VERIFY_FAILED|self.signed certificate/i.test(told))
    return '. Set SSL_CERT_FILE to the bundle that holt e2b certificate prints, or make the system trust it: --trust'
  return ''
}

/**
 * Runs a small program with each package that is installed for the current directory. A package
 * that is not installed is only noted.
 */
export function checkPackages(env: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  return Promise.all(probes.map((probe) => checkPackage(probe, env)))
}

async function checkPackage({ name, command, args, install }: PackageProbe, env: NodeJS.ProcessEnv): Promise<Finding> {
  const absent: Finding = {
    name,
    status: 'note',
    message: `is not installed here. Run this command where your program runs, or: ${install}`,
  }
  try {
    const { stdout } = await promisify(execFile)(command, args, { env, timeout: programTimeoutMs })
    if (stdout.includes(notInstalled)) return absent
    return { name, status: 'ok', message: 'a program made a sandbox, ran a command and killed it' }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return absent
    const { stderr = '' } = error as { stderr?: string }
    const lines = stderr.trim().split('\n')
    const told = lines.findLast((line) => /error|exception/i.test(line)) ?? lines.at(-1) ?? ''
    return { name, status: 'fix', message: `a program failed: ${told.slice(0, 500)}${remedyOf(told)}` }
  }
}
