// A server in a sandbox, visited by its own address. Needs domain mode.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create()
const closed = await Sandbox.create({ network: { allowPublicTraffic: false } })
try {
  for (const each of [sandbox, closed]) {
    await each.files.write('/home/user/index.html', 'hello from inside')
    await each.commands.run('python3 -m http.server 8000 --directory /home/user', { background: true })
    await each.commands.run('until curl -s -o /dev/null http://127.0.0.1:8000; do sleep 0.1; done')
  }
  const visit = (each, headers = {}) => fetch(`https://${each.getHost(8000)}/index.html`, { headers })
  assert.equal(await (await visit(sandbox)).text(), 'hello from inside')
  assert.match(await (await fetch(`https://${sandbox.getHost(8001)}/`)).text(), /port is not open/)

  assert.equal((await visit(closed)).status, 403)
  const token = { 'E2B-Traffic-Access-Token': closed.trafficAccessToken }
  assert.equal(await (await visit(closed, token)).text(), 'hello from inside')
} finally {
  await Promise.all([sandbox.kill(), closed.kill()])
}
console.log('ok')
