import type { Command } from 'commander'
import { addTemplateBuild } from './template/build.ts'
import { addBuildReaders } from './template/builds.ts'
import { addTemplateCheck } from './template/check.ts'
import { addTemplatePull } from './template/pull.ts'
import { addTemplateReaders } from './template/templates.ts'

const examples = `
Examples:
  holt template build -t web .                                    from ./Dockerfile
  holt template build -t web . --start-cmd 'python app.py' --ready-cmd 'curl -fs localhost:5000'
  holt template build -t tools --from-image debian:13 --run 'apt-get update && apt-get install -y jq'
  holt template check .                                           the lines that a build follows, ignores and refuses
  holt template ls
  holt template logs web                                          the log of its newest build
  holt run -t web -- sh -c 'curl -s localhost:5000'`

/** Adds `holt template`, which manages the images of runtimes and their builds. */
export function addTemplate(program: Command): void {
  const group = program
    .command('template')
    .description('manage templates, from which runtimes are made, and builds')
    .addHelpText('after', examples)
  addTemplateBuild(group)
  addTemplateCheck(group)
  addTemplateReaders(group)
  addTemplatePull(group)
  addBuildReaders(group)
}
