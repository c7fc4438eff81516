// What a coding agent does all day: write files, change them, run things in one shell, and look at what it serves.
//
//   npx node examples/fix-and-serve.ts
import { Holt } from '@holt/sdk'

const holt = new Holt() // HOLT_URL and HOLT_API_KEY, else what `holt up` left on this machine
await using runtime = await holt.runtimes.create({ name: `example-${Date.now()}` })

await runtime.files.write('/workspace/site/index.html', '<h1>Helo</h1>')
const { total_count } = await runtime.files.replace({ path: '/workspace/site', pattern: 'Helo', replacement: 'Hello' })
console.log(`mended in ${total_count} place`)

const shell = runtime.commands.session('work') // directory and variables carry over
await shell.run('cd site && export GREETING=found')
console.log((await shell.run('echo $GREETING in $(pwd)')).stdout.trim())

await runtime.commands.start(['python', '-m', 'http.server', '8000', '--directory', '/workspace/site'])
await runtime.ports.get(8000, { wait_secs: 60 })
const page = await runtime.ports.fetch(8000, '/')
console.log('served:', await page.text())
