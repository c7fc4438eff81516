import type { Build, BuildLogLine, BuildStepState } from '../../../sdk/src/index.ts'
import { LiveView } from '../../src/build/live-view.ts'

/**
 * Shows a build on a terminal: two steps end, one is cached; with `narrow` the terminal becomes
 * narrower meanwhile.
 */
const view = new LiveView()
const step = (number: number, text: string, state: BuildStepState['state'], ms: number | null = null) => ({
  step: number,
  text,
  stage: null,
  line: number,
  state,
  duration_ms: ms,
})
const long = `RUN echo ${'long '.repeat(40)}`
const build = (steps: BuildStepState[], warnings: string[] = []) =>
  ({ name: 'web', tag: 'v2', status: 'building', steps, warnings }) as unknown as Build
const line = (number: number, message: string, level: BuildLogLine['level'] = 'info') =>
  ({ type: 'log', cursor: 1, at: '', level, step: number, message }) as BuildLogLine
/** Time for the view to be drawn. */
const drawn = () => new Promise((resolve) => setTimeout(resolve, 250))

view.status(build([step(1, 'FROM python', 'cached'), step(2, long, 'running'), step(3, 'COPY . .', 'waiting')]))
for (let index = 0; index < 20; index++) view.log(line(2, `output \u001b[31m${index}\u001b[0m`))
await drawn()
if (process.argv[2] === 'narrow') process.stderr.columns = 50
process.stderr.emit('resize')
await drawn()
view.status(
  build(
    [step(1, 'FROM python', 'cached'), step(2, long, 'done', 65_400), step(3, 'COPY . .', 'running')],
    ['old image'],
  ),
)
await drawn()
view.status(build([step(1, 'FROM python', 'cached'), step(2, long, 'done', 65_400), step(3, 'COPY . .', 'failed', 10)]))
view.note('a word of our own')
view.end()
