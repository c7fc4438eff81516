/** The instructions that a build ignores, with the reasons. */
export const ignoredInstructions: Readonly<Record<string, { readonly reason: string; readonly fix: string | null }>> = {
  CMD: {
    reason: 'A runtime runs the commands that it is given, and no command of its image.',
    fix: 'Give what has to run in it as start_cmd.',
  },
  ENTRYPOINT: {
    reason: 'A runtime runs the commands that it is given, and no entry point of its image.',
    fix: 'Give what has to run in it as start_cmd.',
  },
  HEALTHCHECK: {
    reason: 'Nothing checks a runtime in intervals.',
    fix: 'Give what tells that the program is ready as ready_cmd.',
  },
  STOPSIGNAL: { reason: 'A runtime is paused or ended as a whole.', fix: null },
  VOLUME: { reason: 'All files of a runtime are its own, also those in this directory.', fix: null },
  ONBUILD: {
    reason: 'Templates have no instructions for those that are built upon them.',
    fix: 'Write the instruction into the Dockerfile that builds upon this one.',
  },
  MAINTAINER: { reason: 'Templates have no field for it.', fix: 'Use LABEL.' },
}
