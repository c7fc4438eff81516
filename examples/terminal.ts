// A terminal inside a runtime: bytes both ways, a size, an exit code.
//
//   npx node examples/terminal.ts
import { Holt } from '@holt/sdk'

const holt = new Holt()
await using runtime = await holt.runtimes.create()

const command = await runtime.commands.start(['bash', '--norc'], { pty: { cols: 80, rows: 24 } })
await using terminal = await command.attach({ write: true })
await terminal.resize({ cols: 132, rows: 43 })
await terminal.write('stty size; echo $((6 * 7)); exit 3\r')
for await (const bytes of terminal) process.stdout.write(bytes)
console.log('ended with', (await terminal.exited).exit_code)
