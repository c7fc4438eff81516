/** The instructions that a build ignores, with the reasons. */
export const ignoredInstructions: Readonly<Record<string, { readonly reason: string; readonly fix: string | null }>> = {
  CMD: {
    reason: 'A runtime runs only the commands that it is given, not the command of its image.',
    fix: 'Set start_cmd to the command that must run in each runtime.',
  },
  ENTRYPOINT: {
    reason: 'A runtime runs only the commands that it is given, not the entry point of its image.',
    fix: 'Set start_cmd to the command that must run in each runtime.',
  },
  HEALTHCHECK: {
    reason: 'Holt runs no periodic health checks.',
    fix: 'Set ready_cmd to a command that exits 0 once the program is ready.',
  },
  STOPSIGNAL: { reason: 'A runtime is paused or ended as a whole.', fix: null },
  VOLUME: { reason: 'All files of a runtime are its own, including those in this directory.', fix: null },
  ONBUILD: {
    reason: 'Templates have no instructions for templates that are built on them.',
    fix: 'Write the instruction into the Dockerfile that builds on this template.',
  },
  MAINTAINER: { reason: 'Templates have no field for it.', fix: 'Use LABEL.' },
}
