import { Progress } from '../../src/output/progress.ts'

/** Shows a job that steps back once, as one does that begins anew, and then ends or fails. */
const progress = new Progress('A long job:')
const steps = [
  { phase: 'first', done: 0 },
  { phase: 'first', done: 10 },
  { phase: 'first', done: 30 },
  { phase: 'second', done: 50 },
  { phase: 'third', done: 20 },
  { phase: 'third', done: 60 },
  { phase: 'third', done: 80 },
]
for (const step of steps) {
  progress.update({ ...step, total: 100 })
  // Time for the bar to be drawn.
  await new Promise((resolve) => setTimeout(resolve, process.stderr.isTTY ? 100 : 0))
}
if (process.argv[2] === 'fail') progress.fail('it broke')
else progress.end('done')
