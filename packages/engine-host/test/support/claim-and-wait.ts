// A program: claims an installation, says so, and holds it until its input ends.
import { argv, stdin, stdout } from 'node:process'
import { claimInstallation } from '../../src/installation/claim-installation.ts'

const [, , stateDir = '', runDir = '', installationId = ''] = argv
try {
  await claimInstallation({ stateDir, runDir, installationId })
  stdout.write('claimed\n')
} catch (error) {
  stdout.write(`${(error as { kind?: string }).kind}\n`)
}
stdin.resume().on('end', () => process.exit(0))
