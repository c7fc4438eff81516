// A template with a server that runs already when a sandbox starts. Needs domain mode for its address.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { Sandbox, Template, waitForPort } from 'e2b'

await mkdir('app', { recursive: true })
await writeFile('app/index.html', 'from the template')
const template = Template()
  .fromImage('python:3.12-slim')
  .copy('app', '/app')
  .runCmd('pip --version')
  .setStartCmd('python3 -m http.server 8000 --directory /app', waitForPort(8000))
const logs = []
await Template.build(template, 'e2b-example:v1', { onBuildLogs: (entry) => void logs.push(entry.message) })
assert.match(logs.join('\n'), /pip/)

const sandbox = await Sandbox.create('e2b-example:v1')
try {
  const answer = await fetch(`https://${sandbox.getHost(8000)}/index.html`)
  assert.equal(await answer.text(), 'from the template')
} finally {
  await sandbox.kill()
}
console.log('ok')
