// A template of your own: an application that already runs when a runtime is there.
//
//   npx node examples/template.ts
import { Holt, Template } from '@holt/sdk'

const holt = new Holt() // HOLT_URL and HOLT_API_KEY, else what `holt up` left on this machine
const app = `
from http.server import BaseHTTPRequestHandler, HTTPServer
import itertools

visits = itertools.count(1)

class Hello(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"visitor {next(visits)}".encode())

HTTPServer(("0.0.0.0", 8000), Hello).serve_forever()`

const template = Template(`example-${Date.now()}`)
  .fromTemplate('base-small') // or .fromImage('python:3.12-slim'), or .fromDockerfile('./Dockerfile')
  .run(`cat > /workspace/app.py <<'END'\n${app}\nEND`)
  .startCmd('python /workspace/app.py')
  .readyCmd('curl -fs localhost:8000')

const build = await template.buildAndWait({
  holt,
  timeoutSecs: 600,
  onLog: ({ step, message }) => console.log(step ?? '-', message),
})
console.log(`built in ${build.duration_ms} ms`)

try {
  await using runtime = await holt.runtimes.create({ template: build.template_id })
  const answer = await runtime.ports.fetch(8000, '/')
  console.log('the first request:', await answer.text()) // visitor 2: the first was ready_cmd
} finally {
  await holt.templates.delete(build.template_id)
}
