// Shows what `go test -json` wrote, as people read it: packages, and the output of what failed.
import { readFileSync } from 'node:fs'

const outputs = new Map()
for (const line of readFileSync(process.argv[2] ?? '', 'utf8').split('\n')) {
  if (!line.startsWith('{')) {
    if (line !== '') console.log(line)
    continue
  }
  const { Action, Package, Test, Output = '' } = JSON.parse(line)
  if (Action === 'build-output') process.stdout.write(Output)
  if (Test === undefined) {
    if (Action === 'output') process.stdout.write(Output)
    continue
  }
  const name = `${Package} ${Test}`
  if (Action === 'output') outputs.set(name, (outputs.get(name) ?? '') + Output)
  if (Action === 'fail' || Action === 'skip') process.stdout.write(outputs.get(name) ?? '')
}
